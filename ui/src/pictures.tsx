// Screenshots: those of two versions, one over the other, and what is compared of them.

import { useState } from 'preact/hooks';
import { address, part } from './api';
import { Field } from './parts';

/** Pictures lays one screenshot over the other, or shows the newer one with what differs in red. */
export function Pictures({ id, from, to }: { id: string; from: number; to: number }) {
  const [at, set] = useState(50);
  const [marked, mark] = useState(from !== to);
  const src = (n: number) => address(`/sources/${part(id)}/versions/${n}/screenshot`);
  return (
    <div>
      {from !== to && <label class="row small"><input type="checkbox" checked={marked} onChange={(e) => mark(e.currentTarget.checked)} /> Mark what differs in red</label>}
      {marked ? <div class="swipe"><img src={address(`/sources/${part(id)}/diff`, { from, to, format: 'png' })} alt={`What differs between the screenshots of versions ${from} and ${to}, in red`} /></div> : <>
        <label class="small">Newer <input type="range" min={0} max={100} value={at} aria-label="How much of the older one is shown" onInput={(e) => set(Number(e.currentTarget.value))} /></label>
        <div class="swipe">
          <img src={src(to)} alt={`Screenshot of version ${to}`} />
          <img src={src(from)} alt={`Screenshot of version ${from}`} style={{ position: 'absolute', inset: '0', clipPath: `inset(0 ${100 - at}% 0 0)` }} />
        </div>
      </>}
    </div>
  );
}

/** Comparison edits what decides whether there is a new version of a rendered page. */
export function Comparison({ how, edit }: { how: Record<string, unknown>; edit: (more: Record<string, unknown>) => void }) {
  const compare = (picture: boolean) => edit(picture ? { compare: 'picture' } : { compare: '', region: '', ignore: null, threshold: '' });
  return (
    <>
      <label class="row"><input type="checkbox" checked={how.compare === 'picture'} onChange={(e) => compare(e.currentTarget.checked)} /> Compare pictures of the page instead of its text</label>
      {how.compare === 'picture' && <>
        <Field label="Picture of" help="the CSS selector of an element; empty means the whole page"><input class="input code" value={String(how.region ?? '')} onInput={(e) => edit({ region: e.currentTarget.value })} /></Field>
        <Field label="Ignore" help="one on each line: CSS selectors, or rectangles such as 300x250+10+20"><textarea class="input code" rows={2} defaultValue={((how.ignore ?? []) as string[]).join('\n')} onChange={(e) => { const list = e.currentTarget.value.split('\n').map((l) => l.trim()).filter(Boolean); edit({ ignore: list.length ? list : null }); }} /></Field>
        <Field label="Report if at least" help="a share of the picture differs, such as 1%; empty means any difference"><input class="input" value={String(how.threshold ?? '')} onInput={(e) => edit({ threshold: e.currentTarget.value })} /></Field>
      </>}
    </>
  );
}
