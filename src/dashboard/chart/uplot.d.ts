/** The file of uPlot itself, which the build copies. */
export { default as uPlot } from "uplot";
