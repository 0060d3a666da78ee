// main.js - reads the data and puts the page together.

function head(about, page) {
  const from = about.catalog ? ['the catalog ', named(about.catalog)] : ['files that no catalog has'];
  document.title = `${visible(page.title)} · ckptdb`;
  document.getElementById('head').replaceChildren(
    h('h1', {}, named(page.title)), page.sub ? h('p', { class: 'sub' }, named(page.sub)) : '',
    h('p', { class: 'made' }, 'Made ', h('time', { datetime: `${about.made.replace(' ', 'T')}Z` }, `${about.made} UTC`), ` by ckptdb ${about.version} from `, ...from));
}

async function begin() {
  const state = document.getElementById('state'), main = document.getElementById('main');
  const whole = new Promise((done) => { document.addEventListener('DOMContentLoaded', done); }); // the rest of the file is still read
  try {
    const tables = await loadTables('data');
    const about = Object.fromEntries(rowsOf(tables.about).map(({ key, value }) => [key, value]));
    const page = { catalog: catalogPage, one: onePage, two: twoPage }[about.kind](tables, about);
    head(about, page);
    main.replaceChildren(...page.content.filter(Boolean));
    document.documentElement.dataset.ready = 'true';
    await whole;
    page.later?.(await loadTables('later'));
    document.documentElement.dataset.complete = 'true';
  } catch (error) {
    main.prepend(state);
    state.textContent = `The data of this page cannot be read (${error.message}): it was cut short, or the browser is too old.`;
  }
}
begin();
