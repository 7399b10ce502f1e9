// What is asked of a page. It runs in a world of its own: the page's scripts neither
// see it nor can change what it calls.
globalThis.freshet ??= (() => {
  const most = 100000; // elements looked at

  // roots yields the document and all open shadow roots and frames of its own origin.
  function* roots(root = document, left = { n: most }) {
    yield root;
    for (const e of root.querySelectorAll("*")) {
      if (left.n-- <= 0) return;
      if (e.shadowRoot) yield* roots(e.shadowRoot, left);
      if (e.tagName === "IFRAME") {
        let inner = null;
        try { inner = e.contentDocument; } catch {}
        if (inner) yield* roots(inner, left);
      }
    }
  }

  function find(css) {
    const first = document.querySelector(css); // throws if it is no selector
    if (first) return first;
    for (const root of roots()) {
      const e = root.querySelector(css);
      if (e) return e;
    }
    return null;
  }

  function click(css) {
    const e = find(css);
    if (!e) throw new Error("nothing to click");
    press(e);
  }

  function press(e) {
    e.scrollIntoView({ block: "center", behavior: "instant" });
    const at = { bubbles: true, cancelable: true, composed: true, view: window };
    for (const kind of ["pointerdown", "mousedown", "pointerup", "mouseup"]) {
      e.dispatchEvent(kind.startsWith("pointer") ? new PointerEvent(kind, at) : new MouseEvent(kind, at));
    }
    e.click();
  }

  function fill(css, text) {
    const e = find(css);
    if (!e) throw new Error("nothing to fill");
    e.focus?.();
    if (e.isContentEditable) e.textContent = text;
    else if (e.type === "checkbox" || e.type === "radio") e.checked = !["", "0", "false", "no", "off"].includes(text.toLowerCase());
    else e.value = text;
    for (const kind of ["input", "change"]) e.dispatchEvent(new Event(kind, { bubbles: true, composed: true }));
  }

  async function scroll(css) {
    if (css) {
      find(css)?.scrollIntoView({ block: "center", behavior: "instant" });
      return;
    }
    const end = () => document.scrollingElement?.scrollHeight ?? 0;
    for (let i = 0, y = 0; i < 50 && y < end(); i++) {
      y += window.innerHeight;
      window.scrollTo({ top: y, behavior: "instant" });
      await new Promise(done => setTimeout(done, 30));
    }
  }

  // composed returns a copy of a node as it is seen. The inside of open shadow roots takes the
  // place of what their hosts contain, and that of frames of the same origin follows them. What
  // is not displayed stands in templates: it is no text of the page, and can still be selected.
  function composed(node, left = { n: most }, shown = true) {
    const copy = node.tagName === "FRAMESET" ? document.createElement("body") : node.cloneNode(false);
    let children = node.childNodes;
    if (node.shadowRoot) children = node.shadowRoot.childNodes;
    else if (node.tagName === "SLOT" && node.assignedNodes().length > 0) children = node.assignedNodes();
    for (const child of children) {
      const hides = shown && left.n-- > 0 && isHidden(child);
      const inner = composed(child, left, shown && !hides);
      if (hides) {
        const box = document.createElement("template");
        box.content.appendChild(inner);
        copy.appendChild(box);
        continue;
      }
      copy.appendChild(inner);
      const frame = shown && frameOf(child);
      if (!frame) continue;
      const box = document.createElement("div");
      box.append(...composed(frame, left).childNodes);
      copy.appendChild(box);
    }
    return copy;
  }

  // isHidden reports whether an element is not displayed that would be text.
  function isHidden(e) {
    if (e.nodeType !== 1 || e.namespaceURI !== "http://www.w3.org/1999/xhtml") return false;
    if (/^(HEAD|SCRIPT|STYLE|TEMPLATE|NOSCRIPT|LINK|META|TITLE|BASE|INPUT|AREA|PARAM|SOURCE|TRACK|DATALIST)$/.test(e.tagName)) return false;
    return (e.ownerDocument.defaultView ?? window).getComputedStyle(e).display === "none";
  }

  // frameOf returns what a frame of the same origin shows; null if e is none.
  function frameOf(e) {
    if (e.tagName !== "IFRAME" && e.tagName !== "FRAME") return null;
    try { return e.contentDocument?.body ?? null; } catch { return null; }
  }

  let html = "";

  // take makes the page into HTML and says how long it is.
  function take() {
    const root = document.documentElement;
    html = root ? composed(root).outerHTML : "";
    if (document.doctype) html = "<!DOCTYPE html>\n" + html;
    return { Size: html.length, URL: location.href };
  }

  function height() {
    const s = document.scrollingElement;
    return Math.ceil(s ? s.scrollHeight : 0);
  }

  // still ends what moves, and waits until pictures and fonts are there: a page that has not changed
  // has to look the same.
  async function still() {
    for (const root of roots()) {
      for (const a of root.getAnimations?.() ?? []) {
        try { a.effect?.getComputedTiming().endTime === Infinity ? a.cancel() : a.finish(); } catch { a.cancel(); }
      }
      for (const v of root.querySelectorAll("video, audio")) v.pause();
    }
    const pictures = [...roots()].flatMap(root => [...root.querySelectorAll("img")]).filter(i => i.complete);
    const all = Promise.allSettled([document.fonts.ready, ...pictures.map(i => i.decode())]);
    await Promise.race([all, new Promise(done => setTimeout(done, 2000))]);
    document.activeElement?.blur?.(); // no blinking cursor
  }

  // hide has elements leave their place empty.
  function hide(css) {
    document.querySelector(css); // throws if it is no selector
    for (const root of roots()) {
      for (const e of root.querySelectorAll(css)) {
        e.style.setProperty("opacity", "0", "important");
        e.style.setProperty("transition", "none", "important");
      }
    }
  }

  // box says where on the page an element is.
  function box(css) {
    const e = find(css);
    if (!e) return null;
    const at = e.getBoundingClientRect();
    let x = at.x + window.scrollX, y = at.y + window.scrollY;
    for (let w = e.ownerDocument.defaultView; w && w !== window && w.frameElement; w = w.parent) {
      const frame = w.frameElement.getBoundingClientRect();
      x += frame.x + w.frameElement.clientLeft;
      y += frame.y + w.frameElement.clientTop;
    }
    const left = Math.max(0, Math.floor(x)), top = Math.max(0, Math.floor(y));
    return { X: left, Y: top, Width: Math.ceil(x + at.width) - left, Height: Math.ceil(y + at.height) - top };
  }

  // What consent managers call their buttons.
  const buttons = {
    accept: [
      "#onetrust-accept-btn-handler", "#CybotCookiebotDialogBodyLevelButtonLevelOptinAllowAll", "#CybotCookiebotDialogBodyButtonAccept",
      "#didomi-notice-agree-button", ".qc-cmp2-summary-buttons button[mode=primary]", "button[data-testid=uc-accept-all-button]",
      "#truste-consent-button", ".cmplz-accept", ".osano-cm-accept-all", ".cky-btn-accept", "a[data-cookie-accept-all]", ".cm-btn-accept-all",
      ".iubenda-cs-accept-btn", "#axeptio_btn_acceptAll", ".cc-btn.cc-allow", "#tarteaucitronPersonalize2", "#L2AGLb", ".fc-cta-consent",
      "button.sp_choice_type_11", "#cookie_action_close_header", "#hs-eu-confirmation-button", "[data-cookiefirst-action=accept]",
      ".js-accept-cookies", "#accept-cookies", "#acceptAllCookies", "#cookie-accept", ".cookie-accept", "#wt-cli-accept-all-btn",
    ],
    reject: [
      "#onetrust-reject-all-handler", "#CybotCookiebotDialogBodyButtonDecline", "#didomi-notice-disagree-button",
      ".qc-cmp2-summary-buttons button[mode=secondary]", "button[data-testid=uc-deny-all-button]", "#truste-consent-required", ".cmplz-deny",
      ".osano-cm-denyAll", ".osano-cm-deny", ".cky-btn-reject", "a[data-cookie-refuse]", ".cm-btn-decline", ".iubenda-cs-reject-btn",
      "#axeptio_btn_dismiss", ".cc-btn.cc-deny", "#tarteaucitronAllDenied2", "#W0wltc", ".fc-cta-do-not-consent", "button.sp_choice_type_13",
      "#hs-eu-decline-button", "[data-cookiefirst-action=reject]", "#reject-cookies", "#cookie-reject", ".cookie-reject", "#wt-cli-reject-btn",
    ],
  };

  // What the buttons of others say, in lower case and without punctuation.
  const words = {
    accept: [
      "accept", "accept all", "accept all cookies", "accept cookies", "allow all", "allow all cookies", "allow cookies", "agree", "i agree", "i accept", "agree and continue", "agree to all", "accept and continue", "accept and close", "got it", "ok", "okay", "consent", "yes i agree",
      "akzeptieren", "alle akzeptieren", "alles akzeptieren", "alle cookies akzeptieren", "zustimmen", "allen zustimmen", "zustimmen und weiter", "einverstanden", "ich stimme zu", "alle zulassen", "alle cookies zulassen", "akzeptieren und weiter", "verstanden",
      "accepter", "tout accepter", "accepter tout", "j accepte", "accepter et continuer", "accepter et fermer", "accepter les cookies", "d accord",
      "aceptar", "aceptar todo", "aceptar todas", "aceptar todas las cookies", "aceptar cookies", "acepto", "de acuerdo", "aceptar y continuar",
      "accetta", "accetta tutti", "accetta tutto", "accetta tutti i cookie", "accetto", "accetta e continua", "accetta i cookie",
      "accepteren", "alles accepteren", "alle cookies accepteren", "akkoord", "ik ga akkoord", "alles toestaan", "cookies accepteren",
      "aceitar", "aceitar todos", "aceitar tudo", "aceitar todos os cookies", "aceito", "concordo",
      "akceptuję", "akceptuj wszystkie", "zaakceptuj wszystkie", "zgadzam się", "akceptuj", "przejdź do serwisu",
      "acceptera", "acceptera alla", "godkänn alla", "godkänn", "jag godkänner", "accepter alle", "tillad alle", "godta", "godta alle", "aksepter", "tillat alle", "hyväksy", "hyväksy kaikki",
      "přijmout", "přijmout vše", "souhlasím", "povolit vše", "elfogadom", "összes elfogadása", "kabul et", "tümünü kabul et", "同意する", "すべて許可", "принять", "принять все", "接受", "全部接受", "同意",
    ],
    reject: [
      "reject", "reject all", "reject all cookies", "reject cookies", "decline", "decline all", "deny", "deny all", "refuse", "refuse all", "disagree", "no thanks", "do not consent", "only necessary", "necessary only", "necessary cookies only", "only essential", "essential only", "use necessary cookies only", "continue without accepting",
      "ablehnen", "alle ablehnen", "alles ablehnen", "nur notwendige", "nur erforderliche", "nur notwendige cookies", "nur essenzielle cookies akzeptieren", "nur technisch notwendige",
      "refuser", "tout refuser", "refuser tout", "continuer sans accepter", "je refuse",
      "rechazar", "rechazar todo", "rechazar todas", "rechazar cookies", "solo necesarias",
      "rifiuta", "rifiuta tutti", "rifiuta tutto", "continua senza accettare", "solo necessari",
      "weigeren", "alles weigeren", "alles afwijzen", "alleen noodzakelijk", "alleen noodzakelijke cookies",
      "rejeitar", "rejeitar todos", "rejeitar tudo", "recusar", "odrzuć", "odrzuć wszystkie", "nie zgadzam się",
      "avvisa", "avvisa alla", "neka alla", "endast nödvändiga", "afvis alle", "kun nødvendige", "avslå", "avvis alle", "hylkää", "hylkää kaikki", "vain välttämättömät",
      "odmítnout", "odmítnout vše", "elutasítom", "reddet", "tümünü reddet", "拒否する", "отклонить", "отклонить все", "拒绝", "全部拒绝",
    ],
  };

  const plain = text => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ").trim();
  const banner = /cookie|consent|gdpr|privacy|cmp|dsgvo|banner|notice|overlay|modal|dialog/i;

  // What banners without a telling name speak of.
  const about = /cookie|consent|gdpr|privacy|datenschutz|dsgvo|confidentialit|vie privée|privacidad|riservatezza|prywatnoś|evästee|çerez|süti|クッキー|куки|конфиденциальн|隐私/i;

  function visible(e) {
    const box = e.getBoundingClientRect();
    const style = getComputedStyle(e);
    return box.width > 0 && box.height > 0 && style.visibility !== "hidden" && style.display !== "none";
  }

  // inBanner reports whether an element is in something that looks like a banner.
  function inBanner(e) {
    for (let depth = 0; e && depth < 15; depth++) {
      if (e === document.body) return false;
      const label = `${e.id} ${typeof e.className === "string" ? e.className : ""} ${e.getAttribute?.("role") ?? ""} ${e.getAttribute?.("aria-label") ?? ""}`;
      if (banner.test(label) || e.tagName === "DIALOG" || e.getAttribute?.("aria-modal") === "true") return true;
      if (e.nodeType === 1 && /fixed|sticky/.test(getComputedStyle(e).position) && about.test(e.innerText)) return true;
      e = e.parentElement ?? e.getRootNode()?.host ?? e.ownerDocument?.defaultView?.frameElement;
    }
    return false;
  }

  // consent presses the button of a consent banner, and says whether there was one.
  function consent(answer) {
    const all = [...roots()];
    for (const root of all) {
      for (const css of buttons[answer]) {
        const e = root.querySelector(css);
        if (e && visible(e)) { press(e); return true; }
      }
    }
    const said = new Set(words[answer]);
    for (const root of all) {
      for (const e of root.querySelectorAll("button, a, input[type=button], input[type=submit], [role=button]")) {
        const text = plain(e.innerText || e.value || e.getAttribute("aria-label") || "");
        if (said.has(text) && visible(e) && inBanner(e)) { press(e); return true; }
      }
    }
    return false;
  }

  return { find, click, fill, scroll, take, taken: () => html, height, still, hide, box, consent };
})();
