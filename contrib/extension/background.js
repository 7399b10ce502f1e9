// Watch this page: the button and the context menu open the form of Freshet, with the URL of the page and,
// if an element was chosen, a CSS selector of it. Nothing is sent anywhere else.

const usual = 'http://127.0.0.1:8080';

/** Opens the form with a page that somebody watches, and with an element of it. */
async function watch(url, css) {
  const { server = usual } = await chrome.storage.local.get('server');
  const form = new URL('/start', server);
  form.searchParams.set('url', url);
  if (css) form.searchParams.set('css', css);
  await chrome.tabs.create({ url: form.href });
  return form.href;
}

/** Runs in the page: returns a selector of the element around what is selected. */
function selected() {
  const plain = /^[A-Za-z][\w-]*$/;
  const name = (e) => {
    if (plain.test(e.id) && document.querySelectorAll('#' + e.id).length === 1) return '#' + e.id;
    const own = [...e.classList].find((c) => plain.test(c) && document.querySelectorAll(`${e.localName}.${c}`).length === 1);
    if (own) return `${e.localName}.${own}`;
    const parent = e.parentElement;
    if (!parent || e === document.body) return e.localName;
    const alike = [...parent.children].filter((c) => c.localName === e.localName);
    return name(parent) + ' > ' + e.localName + (alike.length > 1 ? `:nth-of-type(${alike.indexOf(e) + 1})` : '');
  };
  const chosen = getSelection()?.isCollapsed === false ? getSelection().getRangeAt(0).commonAncestorContainer : undefined;
  const element = chosen?.nodeType === Node.TEXT_NODE ? chosen.parentElement : chosen;
  return element instanceof Element ? name(element) : '';
}

chrome.runtime.onInstalled.addListener(() => {
  chrome.contextMenus.create({ id: 'page', title: 'Watch this page', contexts: ['page'] });
  chrome.contextMenus.create({ id: 'part', title: 'Watch this part of the page', contexts: ['selection'] });
  chrome.contextMenus.create({ id: 'link', title: 'Watch the page behind this link', contexts: ['link'] });
});

chrome.action.onClicked.addListener((tab) => watch(tab.url));

chrome.contextMenus.onClicked.addListener(async (info, tab) => {
  if (info.menuItemId === 'link') return watch(info.linkUrl);
  if (info.menuItemId === 'page') return watch(tab.url);
  const [{ result }] = await chrome.scripting.executeScript({ target: { tabId: tab.id }, func: selected });
  return watch(tab.url, result);
});

self.watch = watch; // for tests
self.selected = selected;
