/** Space to the left and right of the drawing of every chart, px: one instant is at the same place in all of them. */
export const LEFT = 60;
export const RIGHT = 20;
/** Space above the drawing for the labels of marks, px. */
export const LABELS = 32;
