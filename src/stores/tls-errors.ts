/**
 * Returns what is wrong with the TLS of a server, as a sentence about "it" for the operator. Undefined if neither the
 * error nor its causes concern TLS.
 */
export function tlsError(error: unknown): string | undefined {
  let cause = error;
  for (let depth = 0; cause instanceof Error && depth < DEEPEST; depth += 1) {
    const { code } = cause as { code?: unknown };
    const words = typeof code === "string" ? wordsFor(code) : undefined;
    if (words !== undefined) return words;
    cause = cause.cause;
  }
  return undefined;
}

/** Maximum depth of errors of Node wrapped by drivers. */
const DEEPEST = 5;

/** https://nodejs.org/api/tls.html#x509-certificate-error-codes */
function wordsFor(code: string): string | undefined {
  if (/^(UNABLE_TO_|SELF_SIGNED_CERT_|DEPTH_ZERO_SELF_|CERT_UNTRUSTED$|INVALID_CA$)/.test(code))
    return `its certificate is of an authority that is not trusted (${code}): NODE_EXTRA_CA_CERTS names the file of one`;
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID" || code === "HOSTNAME_MISMATCH")
    return "its certificate is for another name than the URL has";
  if (/^(CERT_|CRL_|ERROR_IN_CERT_|INVALID_PURPOSE$|PATH_LENGTH_EXCEEDED$)/.test(code))
    return `its certificate is not valid (${code})`;
  return code === "EPROTO" || code.startsWith("ERR_SSL_") ? "it does not speak TLS as this service does" : undefined;
}
