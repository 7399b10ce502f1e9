// Choosing an element of the last capture: from a list of what the page says, or by a click in
// a picture of it. Nothing that was captured runs for that. The frame of the picture has an
// origin of its own and one script of ours; numbers of elements are all that passes.
import { useEffect, useRef, useState } from 'preact/hooks';
import { address, get } from './api';
import { count, tidy } from './format';
import { useLoad } from './load';
import { Button, Field, Section, Show } from './parts';

interface Item { number: number; depth: number; tag: string; selector: string; text: string; chars: number }
interface Outline { version: number; items: Item[]; cut?: boolean }

const most = 300; // rows at once

/** Picker chooses an element of the page whose outline and picture are below an address, such as /sources/a/versions/latest. */
export function Picker({ at, now, pick, close }: { at: string; now: string; pick: (selector: string) => void; close: () => void }) {
  const outline = useLoad<Outline>((s) => get(at + '/outline', {}, s), [at]);
  return (
    <Section title="Choose an element" note="of the last capture; nothing of it runs" side={<Button local kind="ghost" icon="close" onClick={close}>Close</Button>}>
      <Show of={outline} bars={6}>{(o) => <Elements at={at.replace(/latest$/, String(o.version))} of={o} now={now} pick={pick} />}</Show>
    </Section>
  );
}

function Elements({ at: page, of, now, pick }: { at: string; of: Outline; now: string; pick: (selector: string) => void }) {
  const [words, type] = useState('');
  const asked = words.toLowerCase();
  const shown = of.items.filter((i) => !asked || i.text.toLowerCase().includes(asked) || i.selector.toLowerCase().includes(asked)).slice(0, most);
  const [number, choose] = useState(of.items.find((i) => i.selector === now)?.number);
  const box = useRef<HTMLUListElement>(null);
  const frame = useRef<HTMLIFrameElement>(null);
  const [over, point] = useState<Item>();
  const last = useRef({ number, of, pick, shown });
  last.current = { number, of, pick, shown };
  const mark = () => frame.current?.contentWindow?.postMessage({ mark: last.current.number ?? 0 }, '*'); // its origin has no name
  useEffect(mark, [number]);
  useEffect(() => {
    const hear = (e: MessageEvent) => {
      if (e.source !== frame.current?.contentWindow || e.origin !== 'null') return;
      const said = e.data as { freshet?: unknown; number?: unknown } | null;
      if (typeof said !== 'object' || said === null || !Number.isInteger(said.number)) return;
      if (said.freshet === 'ready') return mark();
      const item = last.current.of.items.find((i) => i.number === said.number);
      if (said.freshet === 'over') point(item);
      if (said.freshet !== 'choose' || !item) return;
      if (!last.current.shown.includes(item)) type(''); // the list has to show it
      choose(item.number);
      last.current.pick(item.selector);
    };
    addEventListener('message', hear);
    return () => removeEventListener('message', hear);
  }, []);
  const at = shown.findIndex((i) => i.number === number);
  const chosen = shown[at];
  const to = (i: number) => {
    const next = Math.max(0, Math.min(shown.length - 1, i));
    choose(shown[next]?.number);
    box.current?.querySelectorAll('[role=option]')[next]?.scrollIntoView({ block: 'nearest' });
  };
  const key = (e: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -shown.length, End: shown.length }[e.key];
    if (step !== undefined) {
      e.preventDefault();
      to(at + step);
    } else if (e.key === 'Enter' && chosen) {
      e.preventDefault();
      pick(chosen.selector);
    } else if (e.key === 'ArrowLeft' && chosen) { // the element around it
      e.preventDefault();
      for (let i = at - 1; i >= 0; i--) if (shown[i].depth < chosen.depth) return to(i);
    }
  };
  return (
    <div class="picker">
      <div>
        <Field label="Find in the page"><input class="input" type="search" value={words} placeholder="a word that the element has" onInput={(e) => type(e.currentTarget.value)} /></Field>
        <ul class="elements" role="listbox" tabIndex={0} aria-label="Elements of the page" aria-activedescendant={chosen ? 'element-' + chosen.number : undefined} ref={box} onKeyDown={key}>
          {shown.map((i, n) => (
            <li key={i.number} id={'element-' + i.number} role="option" aria-selected={n === at} class={`d${Math.min(i.depth, 12)}`} onClick={() => to(n)} onDblClick={() => pick(i.selector)}>
              <span class="mono dim">{i.tag}</span> <bdi>{tidy(i.text)}</bdi>
            </li>
          ))}
        </ul>
        {shown.length === 0 && <p class="empty">No element says that.</p>}
        {(of.cut || shown.length === most) && <p class="small dim">There are more; find by a word.</p>}
        <p class="row wrap">
          <Button local kind="main" disabled={!chosen} onClick={() => pick(chosen.selector)}>Compare this</Button>
          {chosen && <span class="mono one grow">{tidy(chosen.selector)}</span>}
          {chosen && <span class="dim small">{count(chosen.chars)} characters</span>}
        </p>
        <p class="small dim">Arrows move, Left goes to the element around it, Enter takes it.</p>
      </div>
      <div>
        <iframe ref={frame} class="frame" sandbox="allow-scripts" title="The last capture: click on what to compare" src={address(page + '/rendered', { pick: true })} />
        <p class="small dim one" aria-hidden="true">{over ? <>{over.tag} <bdi>{tidy(over.text)}</bdi></> : 'Point at a part of the page; a click compares it.'}</p>
      </div>
    </div>
  );
}
