// Modules of most views. The build adds this file to the script of each view, so that they are one file: as many small
// files, one for each group of views that shares them, are a tenth larger.
// Tables and sparklines are not among them: pages with a chart have no room for both.
import "./chart/chart.js";
import "./fetch-series.js";
import "./list/entries.js";
import "./list/pill.js";
import "./list/time.js";
import "./list/value.js";
import "./list/wanted.js";
import "./marks.js";
import "./optional.js";
import "./page/app.js";
import "./page/card.js";
import "./page/controller.js";
import "./page/download.js";
import "./page/head.js";
import "./page/toggle.js";
import "./range.js";
import "./tables.js";
import "./views/use-focus.js";
import "./views/use-poll.js";
