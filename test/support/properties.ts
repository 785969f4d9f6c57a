import fc from "fast-check";

// The message of a property that failed holds what it failed with: a worker of mocha hands on messages, not causes.
fc.configureGlobal({ includeErrorInReport: true });
