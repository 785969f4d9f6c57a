/** How our pages look. */
export const pageStyle = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: 0; }
h2 { font-size: 1.1rem; margin-top: 2rem; }
pre { padding: .8rem; overflow-x: auto; border: 1px solid #8886; border-radius: .4rem; font-size: .85rem; }
td { padding: .15rem 1rem .15rem 0; vertical-align: top; }
`;
