package api

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// pickScript is the one script that runs in a page from which somebody chooses an element. It
// tells the page around it the number of the element under the pointer, and which was
// clicked, and marks the one that it is told. Numbers are all that passes either way.
const pickScript = `(() => {
  const of = (e) => e.target instanceof Element ? e.target.closest('[data-freshet]') : null;
  const tell = (act, el) => parent.postMessage({ freshet: act, number: el ? Number(el.getAttribute('data-freshet')) : 0 }, '*');
  let lit = null, marked = null;
  addEventListener('mouseover', (e) => {
    const el = of(e);
    if (el === lit) return;
    if (lit) lit.removeAttribute('data-freshet-lit');
    if (el) el.setAttribute('data-freshet-lit', '');
    lit = el;
    tell('over', el);
  }, true);
  addEventListener('click', (e) => {
    e.preventDefault();
    e.stopPropagation();
    const el = of(e);
    if (el) tell('choose', el);
  }, true);
  addEventListener('message', (e) => {
    if (e.source !== parent || !e.data || !Number.isInteger(e.data.mark)) return;
    if (marked) marked.removeAttribute('data-freshet-mark');
    marked = document.querySelector('[data-freshet="' + e.data.mark + '"]');
    if (!marked) return;
    marked.setAttribute('data-freshet-mark', '');
    marked.scrollIntoView({ block: 'nearest' });
  });
  tell('ready', null);
})();`

// pickStyle shows what is under the pointer, and what is chosen.
const pickStyle = `[data-freshet] { cursor: pointer !important; }
[data-freshet-lit] { outline: 2px dashed #bf7d08 !important; outline-offset: 1px !important; }
[data-freshet-mark] { outline: 3px solid #0b6670 !important; outline-offset: 2px !important; background: #dcedee !important; color: #0f1e1f !important; }`

// pickPolicy is renderedPolicy, but for that one script, which is known by its hash. The page
// has an origin of its own, so the script reaches nothing of ours.
var pickPolicy = func() string {
	sum := sha256.Sum256([]byte(pickScript))
	return "default-src 'none'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; style-src 'unsafe-inline'; img-src data:; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts"
}()

// number gives the elements that the outline lists their numbers, after cleaning: nothing
// that was captured can look like one.
func number(doc *html.Node, cleaned func()) {
	all := elements(doc)
	listed := outlineOf(doc)
	cleaned()
	for _, item := range listed[:min(len(listed), maxOutline)] {
		n := all[item.Number-1]
		n.Attr = append(n.Attr, html.Attribute{Key: "data-freshet", Val: strconv.Itoa(item.Number)})
	}
	for n := range doc.Descendants() {
		if n.DataAtom == atom.Body && n.Type == html.ElementNode {
			n.AppendChild(textElement(atom.Style, pickStyle))
			n.AppendChild(textElement(atom.Script, pickScript))
			return
		}
	}
}

// textElement returns an element with a text of ours in it.
func textElement(tag atom.Atom, text string) *html.Node {
	n := &html.Node{Type: html.ElementNode, Data: tag.String(), DataAtom: tag}
	n.AppendChild(&html.Node{Type: html.TextNode, Data: text})
	return n
}
