// Adding a source: paste an address, see what it reads, choose what to compare and whom to notify.
import { useEffect, useRef, useState } from 'preact/hooks';
import { address, get, part, send } from './api';
import { Ask, alertLine, asked, blank, bodyOf, offersOf, saying, toOf, type Suggestion } from './alert';
import { Bring } from './bring';
import { bytes, plural, span, tidy } from './format';
import { quote, sourceLine } from './lines';
import { useAction, useLoad } from './load';
import { may } from './me';
import { AsLines, Button, Field, Outcome, Section, sourcePath } from './parts';
import { Picker } from './picker';
import { go, here } from './router';
import type { Overview, Remedy, Source, Suspect } from './types';

/** A Probe is what a look at a page found. Nothing of it is stored. */
interface Probe {
  id?: string; url: string; landed_on?: string; known?: string; status?: number; media_type?: string; title?: string; bytes: number; took_ms: number; text?: string; lines: number;
  failure?: string; error?: string; suspect?: Suspect; remedies?: Remedy[]; items: Suggestion[];
}

export function Start() {
  const overview = useLoad<Overview>((s) => get('/overview', {}, s), []);
  const none = overview.data?.sources.all === 0;
  if (!may('write')) return <><h1 class="report">Add a source</h1><p class="say lead">Only editors can add sources; your role is to read. <a href="/sources">To the sources</a></p></>;
  return (
    <>
      <h1 class="report">{none ? 'Nothing is watched yet.' : 'Add a source'}</h1>
      <p class="say lead">
        Enter the address of a page, a feed or a JSON document. Nothing is stored before you save.
        {overview.data && <> All polls share a budget of <b>{overview.data.status.budget}</b>.</>}
      </p>
      <div class="cols">
        <div><AddOne /></div>
        <div id="import"><Bring /></div>
      </div>
      {none && (
        <div class="form">
          <Section title="At once"><p>The first version of every source is stored. It is no change.</p></Section>
          <Section title="Within the first hours"><p>Estimates have wide ranges, or are not known yet.</p></Section>
          <Section title="After some days"><p>Rates, hours and weekdays are learned, and the budget goes where changes are.</p></Section>
        </div>
      )}
    </>
  );
}

/** complete adds the scheme that nobody types. */
const complete = (url: string) => (/^[a-z][a-z0-9+.-]*:/i.test(url.trim()) ? url.trim() : 'https://' + url.trim());

const titles: Record<string, string> = { main: 'the main part', list: 'the list, item by item', table: 'the table', price: 'the price', product: 'price and stock', feed: 'the feed of the page' };

function AddOne() {
  const given = here.value.query;
  const [url, type] = useState(given.get('url') ?? '');
  const [found, show] = useState<Probe>();
  const [render, rendering] = useState(false); // in a browser
  const [choice, choose] = useState(0);
  const [css, element] = useState(given.get('css') ?? ''); // of an element that was chosen
  const [picking, open] = useState(false);
  const [tags, tag] = useState('');
  const [name, call] = useState('');
  const [alert, notify] = useState(blank);
  const [looking, run] = useAction();
  const [saving, save] = useAction();
  const look = (at: string, inBrowser: boolean, selector = '') => run(async () => {
    show(undefined);
    element(selector);
    choose(selector ? -1 : 0);
    open(false);
    notify(blank);
    rendering(inBrowser);
    const p = await send<Probe>('POST', '/probe', { url: complete(at), ...(inBrowser && { render: true }) });
    p.items = p.items.filter((i) => !i.fields || Object.values(i.fields).some((v) => v !== null)); // what has no value now is no offer
    if (!selector && ['product', 'price'].includes(p.items[0]?.what)) choose(1);
    show(p);
  });
  useEffect(() => { // from a bookmarklet or an extension
    if (url.trim()) void look(url, false, css);
  }, []);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (!matchMedia('(pointer: coarse)').matches) field.current?.focus({ preventScroll: true });
  }, []);
  const submit = (e: Event) => {
    e.preventDefault();
    if (url.trim()) void look(url, render);
  };
  const remedy = (r: Remedy) => {
    const to = String(r.edit?.url ?? url);
    type(to);
    void look(to, render || !!r.edit?.render);
  };
  const way: Partial<Suggestion> | undefined = choice < 0 ? { read: [{ css }] } : choice > 0 ? found?.items[choice - 1] : undefined;
  const words = tags.split(',').map((t) => t.trim()).filter(Boolean);
  const edit = {
    ...(way?.read?.length && { read: way.read }), ...(way?.items && { items: way.items }), ...(way?.extract && { extract: way.extract }), ...(render && { render: true }),
    ...(name.trim() && { name: name.trim() }), ...(words.length && { tags: words }),
  };
  const watch = { url: way?.url ? new URL(way.url, found?.landed_on ?? found?.url).href : complete(url), ...edit };
  const on = found?.known ? { source: found.known, edit } : { watch };
  const offers = offersOf(found?.items ?? []);
  const called = { ...alert, name: alert.name || (found?.title || name ? `${name.trim() || found!.title}: ${saying(alert)}` : '') }; // its page has no title yet
  const keep = () => save(async () => {
    let id = found?.known;
    if (alert.kind) id = (await send<{ source: Source }>('POST', '/alerts', bodyOf(called, on, offers))).source.id;
    else if (!id) id = (await send<Source>('POST', '/sources', watch)).id;
    else if (Object.keys(edit).length) await send('PATCH', '/sources/' + part(id), edit);
    go(sourcePath(id));
  });
  const fixes = (found?.remedies ?? []).filter((r) => (r.what === 'render' && !render) || r.what === 'consent' || r.what === 'follow');
  return (
    <Section title="One page">
      <form onSubmit={submit}>
        <Field label="Address" wrong={looking.problem?.at('body.url')}>
          <input class="input" id="address" ref={field} inputMode="url" autocapitalize="off" spellcheck={false} placeholder="https://example.org/page" value={url} onInput={(e) => type(e.currentTarget.value)} />
        </Field>
        <p class="row"><Button type="submit" kind={found ? undefined : 'main'} busy={looking.busy}>{looking.busy ? 'Loading a preview' : 'Preview'}</Button></p>
      </form>
      {looking.problem && !looking.problem.at('body.url') && <Outcome of={looking} />}
      {found && (
        <div class="stack">
          <Answer of={found} rendered={render} />
          {fixes.map((r) => <p key={r.what} class="row wrap"><Button busy={looking.busy} onClick={() => remedy(r)}>{r.words}</Button><span class="small dim grow">{tidy(r.why)}</span></p>)}
          {(found.remedies ?? []).filter((r) => r.what === 'login').map((r) => <p key={r.what} class="small dim">{r.words}: {tidy(r.why)} You can set that in the settings of the source after you have saved it.</p>)}
          {found.text && (
            <div role="radiogroup" aria-label="What to compare" class="stack">
              <Way title="the whole text" preview={found.text} size={plural(found.lines, 'line')} checked={choice === 0} pick={() => choose(0)} />
              {found.items.map((w, i) => (
                <Way key={i} title={titles[w.what] ?? w.what} note={w.why} preview={w.url ?? (w.fields ? valuesOf(w.fields) : w.text ?? '')} size={w.count ? plural(w.count, 'item') : ''} checked={choice === i + 1} pick={() => choose(i + 1)} />
              ))}
              {css && <Way title="one element" preview={css} size="" checked={choice < 0} pick={() => choose(-1)} />}
            </div>
          )}
          {found.id && <p><Button local kind="ghost" pressed={picking} onClick={() => open(!picking)}>Choose an element</Button></p>}
          {picking && <Picker at={'/probe/' + part(found.id!)} now={css} pick={(selector) => { element(selector); choose(-1); }} close={() => open(false)} />}
          <Ask draft={alert} set={notify} on={on} offers={offers} none="do not notify me" />
          <div class="form">
            <Field label="Name" help="empty means the title of the page"><input class="input" value={name} placeholder={tidy(found.title ?? '')} onInput={(e) => call(e.currentTarget.value)} /></Field>
            <Field label="Tags" help="separated by commas, to group and filter"><input class="input" value={tags} onInput={(e) => tag(e.currentTarget.value)} /></Field>
          </div>
          <div class="row wrap">
            <Button kind="main" busy={saving.busy} disabled={alert.kind !== '' && (asked(alert) === undefined || !toOf(alert))} onClick={keep}>{found.known && !alert.kind && Object.keys(edit).length === 0 ? 'Open it' : 'Save'}</Button>
            <AsLines method={alert.kind ? 'POST' : found.known ? 'PATCH' : 'POST'} url={address(alert.kind ? '/alerts' : found.known ? '/sources/' + part(found.known) : '/sources')}
              body={alert.kind && asked(alert) !== undefined ? bodyOf(called, on, offers) : found.known ? edit : watch}
              cli={found.known ? (alert.kind ? alertLine(alert, found.known) : sourceLine('edit', found.known, edit))
                : sourceLine('add', watch.url, { ...watch, url: undefined }) + (alert.kind ? ` --when ${quote(asked(alert) ?? '')} --notify ${quote(toOf(alert))}` : '')} />
          </div>
        </div>
      )}
      <Outcome of={saving} />
    </Section>
  );
}

const valuesOf = (fields: Record<string, unknown>) => Object.entries(fields).map(([k, v]) => `${k} ${typeof v === 'object' ? JSON.stringify(v) : String(v)}`).join(' · ');

function Answer({ of: f, rendered }: { of: Probe; rendered: boolean }) {
  if (f.failure) return <p class="wrong" role="alert">The page could not be loaded: {tidy(f.error ?? f.failure)}. You can save it all the same; it is tried again later.</p>;
  return (
    <>
      {f.known && <p class="say">It is watched already. <a href={sourcePath(f.known)}>Open the source</a></p>}
      {f.suspect && <p class="wrong" role="alert">This is probably not the page that you want: {tidy(f.suspect.reason)}.</p>}
      <p class="small dim">{f.title && <><b><bdi>{tidy(f.title)}</bdi></b>, </>}{bytes(f.bytes)}, loaded in {span(f.took_ms)}{rendered && ' in a browser'}.</p>
    </>
  );
}

function Way({ title, note, preview, size, checked, pick }: { title: string; note?: string; preview: string; size: string; checked: boolean; pick: () => void }) {
  return (
    <label class="row">
      <input type="radio" name="way" checked={checked} onChange={pick} />
      <span class="grow one">Watch <b>{title}</b> <span class="small dim">{tidy(note ?? '')}</span><br /><bdi class="mono">{tidy(preview.replace(/\s+/g, ' ').slice(0, 140))}</bdi></span>
      <span class="dim">{size}</span>
    </label>
  );
}
