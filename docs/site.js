'use strict';
// The index on a phone, and search over the sections of all pages.
const root = document.currentScript.dataset.root;
const [menu, index, box, results, article] = ['#menu', '#index', '#search', '#results', 'article'].map((s) => document.querySelector(s));
document.documentElement.classList.add('script');
index.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
menu.addEventListener('click', () => menu.setAttribute('aria-expanded', String(index.classList.toggle('open'))));

/** score says how well a section fits the words; 0 if less than two thirds of them are there. */
function score(s, words) {
  const [title, page, text] = [s.t, s.p, s.x].map((x) => x.toLowerCase());
  let sum = 0, found = 0;
  for (const w of words) {
    const times = text.split(w).length - 1;
    if (title.includes(w) || page.includes(w) || times) found++;
    sum += (title.includes(w) ? 20 : page.includes(w) ? 8 : 0) + Math.min(5, times);
  }
  if (found * 3 < words.length * 2) return 0;
  return sum + 30 * (found - words.length) + 100 + (s.u.startsWith('how-to') || s.u.startsWith('tutorial') ? 8 : 0);
}

/** part is the text around the first word. */
function part(text, word) {
  const at = Math.max(0, text.toLowerCase().indexOf(word) - 60);
  return (at ? '… ' : '') + text.slice(at, at + 180);
}

const common = new Set('a an and are at be by can do does for from get happens how i in is it my need of on or that the there this to want was what when where which why with'.split(' '));

function search() {
  const all = box.value.toLowerCase().split(/[^\p{L}\p{N}.-]+/u).filter((w) => w);
  const words = all.filter((w) => !common.has(w)).map((w) => w.length > 3 ? w.replace(/e?s?$/, '') : w);
  results.hidden = !words.length;
  article.hidden = words.length > 0;
  if (!words.length) return;
  const list = document.createElement('ol');
  const found = sections.map((s) => [score(s, words), s]).filter(([n]) => n).sort((a, b) => b[0] - a[0]);
  for (const [, s] of found.slice(0, 20)) {
    const item = document.createElement('li'), link = document.createElement('a'), about = document.createElement('p');
    link.href = root + s.u;
    link.textContent = s.t === s.p ? s.p : s.p + ' › ' + s.t;
    link.addEventListener('click', () => { box.value = ''; search(); });
    about.textContent = part(s.x, words[0]);
    item.append(link, about);
    list.append(item);
  }
  const title = document.createElement('h1');
  title.textContent = found.length + (found.length === 1 ? ' section' : ' sections');
  results.replaceChildren(title, list);
}
box.addEventListener('input', search);
document.addEventListener('keydown', (e) => {
  if (e.key === '/' && document.activeElement !== box) { e.preventDefault(); box.focus(); }
});
