// The first start: paste an address, see what it reads, choose what to compare.
import { useState } from 'preact/hooks';
import { address, get, part, Problem, send } from './api';
import { Ask, alertLine, asked, blank, bodyOf, type Offer } from './alert';
import { Bring } from './bring';
import { bytes, plural, span, tidy } from './format';
import { quote, sourceLine } from './lines';
import { useAction, useLoad } from './load';
import { may } from './me';
import { AsLines, Button, Field, Outcome, Section } from './parts';
import { Picker } from './picker';
import { go } from './router';
import type { Outcome as Poll, Overview, Source } from './types';

interface Suggestion {
  what: string; why: string; url?: string; select?: { css?: string; jsonpath?: string }; read?: unknown[]; extract?: Record<string, unknown>; items?: Record<string, unknown>;
  text?: string; count?: number; fields?: Record<string, unknown>;
}

export function Start() {
  const overview = useLoad<Overview>((s) => get('/overview', {}, s), []);
  const none = overview.data?.sources.all === 0;
  if (!may('write')) return <><h1 class="report">Add a source.</h1><p class="say lead">Only an editor can add sources, and you can only look. <a href="/sources">To the sources</a></p></>;
  return (
    <>
      <h1 class="report">{none || !overview.data ? 'Nothing is watched yet.' : 'Add a source.'}</h1>
      <p class="say lead">
        Name a page, a feed or a JSON address. Freshet looks at it within a budget of <b>{overview.data?.status.budget ?? '…'}</b>, keeps every version it
        sees, and tells you of each change. It learns by itself when each one changes.
      </p>
      <div class="cols">
        <div><AddOne /></div>
        <div id="import"><Bring /></div>
      </div>
      <div class="form">
        <Section title="At once"><p>A first look at every source. It is version 1 and no change.</p></Section>
        <Section title="Within the first hours"><p>Numbers with wide ranges: little can be known yet, and the page says so.</p></Section>
        <Section title="After some days"><p>Rates, hours and weekdays are learned, the ranges narrow, and the budget goes where changes are.</p></Section>
      </div>
    </>
  );
}

/** complete adds the scheme that nobody types. */
const complete = (url: string) => (/^[a-z][a-z0-9+.-]*:/i.test(url.trim()) ? url.trim() : 'https://' + url.trim());

interface Looked { source: Source; outcome?: Poll; hold?: { reason: string }; ways: Suggestion[]; text: string; fresh: boolean; html: boolean }

/** look watches an address, has it polled, and asks what can be read there. A look is a
 * poll like any other: it counts towards the budget, and its version is kept. */
async function look(url: string): Promise<Looked> {
  let source: Source, fresh = true;
  try {
    source = await send<Source>('POST', '/sources', { url });
  } catch (err) {
    const known = (err as Problem).existing;
    if (!known) throw err;
    source = await get<Source>('/sources/' + part(known));
    fresh = false;
  }
  const path = '/sources/' + part(source.id);
  const { outcome, hold } = await send<{ outcome?: Poll; hold?: { reason: string } }>('POST', path + '/poll', undefined, { wait: '30s' });
  if (!outcome || outcome.result === 'failed') return { source, outcome, hold, ways: [], text: '', fresh, html: false };
  const [{ items }, text] = await Promise.all([get<{ items: Suggestion[] }>(path + '/suggestions'), get<string>(path + '/versions/latest/text')]);
  const { media_type } = await get<{ media_type?: string }>(path + '/versions/latest');
  return { source, outcome, hold, ways: items, text: String(text), fresh, html: media_type?.includes('html') ?? false };
}

const titles: Record<string, string> = { main: 'the main part', list: 'the list, item by item', table: 'the table', price: 'the price', product: 'price and stock', feed: 'the feed of the page' };

function AddOne() {
  const [url, type] = useState('');
  const [found, show] = useState<Looked>();
  const [choice, choose] = useState(0);
  const [css, element] = useState(''); // that was chosen in the picture
  const [picking, open] = useState(false);
  const [tags, tag] = useState('');
  const [alert, notify] = useState(blank);
  const [looking, run] = useAction();
  const [saving, save] = useAction();
  const submit = (e: Event) => {
    e.preventDefault();
    if (!url.trim()) return;
    void run(async () => {
      show(undefined);
      choose(0);
      element('');
      open(false);
      notify(blank);
      show(await look(complete(url)));
    });
  };
  const way: Partial<Suggestion> | undefined = choice < 0 ? { read: [{ css }] } : choice > 0 ? found?.ways[choice - 1] : undefined;
  const words = tags.split(',').map((t) => t.trim()).filter(Boolean);
  const edit = { ...(way?.read?.length && { read: way.read }), ...(way?.items && { items: way.items }), ...(way?.extract && { extract: way.extract }), ...(way?.url && { url: new URL(way.url, found?.source.url).href }), ...(words.length && { tags: words }) };
  const offers = found ? offersOf(found) : [];
  const keep = () => save(async () => {
    const path = '/sources/' + part(found!.source.id);
    if (alert.kind) await send('POST', '/alerts', bodyOf(alert, found!.source.id, offers, edit));
    else if (Object.keys(edit).length) await send('PATCH', path, edit);
    go(path);
  });
  const drop = () => save(async () => {
    await send('DELETE', '/sources/' + part(found!.source.id), undefined, { purge: true });
    show(undefined);
    return 'It is not watched any more.';
  });
  return (
    <Section title="Add a source">
      <form onSubmit={submit}>
        <Field label="Address" wrong={looking.problem?.at('body.url')}>
          <input class="input" id="address" inputMode="url" autocapitalize="off" spellcheck={false} placeholder="https://example.org/page" value={url} onInput={(e) => type(e.currentTarget.value)} />
        </Field>
        <p class="row"><Button type="submit" kind={found ? undefined : 'main'} busy={looking.busy}>{looking.busy ? 'Looking' : 'Look'}</Button></p>
      </form>
      {looking.problem && !looking.problem.at('body.url') && <Outcome of={looking} />}
      {found && (
        <div class="stack">
          <Answer of={found} />
          {found.text && (
            <div role="radiogroup" aria-label="What to compare" class="stack">
              <Way title="the whole text" preview={found.text} size={plural(found.text.split('\n').length, 'line')} checked={choice === 0} pick={() => choose(0)} />
              {found.ways.map((w, i) => (
                <Way key={i} title={titles[w.what] ?? w.what} note={w.why} preview={w.url ?? (w.fields ? JSON.stringify(w.fields) : w.text ?? '')} size={w.count ? plural(w.count, 'item') : ''} checked={choice === i + 1} pick={() => choose(i + 1)} />
              ))}
              {css && <Way title="one element" preview={css} size="" checked={choice < 0} pick={() => choose(-1)} />}
            </div>
          )}
          {found.html && <p><Button local kind="ghost" pressed={picking} onClick={() => open(!picking)}>Choose an element</Button></p>}
          {picking && <Picker id={found.source.id} now={css} pick={(selector) => { element(selector); choose(-1); }} close={() => open(false)} />}
          <Ask draft={alert} set={notify} source={found.source.id} offers={offers} none="do not notify me" />
          <Field label="Tags" help="with commas; to group, filter and send"><input class="input" value={tags} onInput={(e) => tag(e.currentTarget.value)} /></Field>
          <div class="row wrap">
            <Button kind="main" busy={saving.busy} disabled={alert.kind !== '' && (asked(alert) === undefined || !(alert.to || alert.fresh.trim()))} onClick={keep}>{alert.kind ? 'Save' : 'Watch it'}</Button>
            {found.fresh && <Button kind="ghost" busy={saving.busy} onClick={drop}>Do not</Button>}
            <AsLines method="POST" url={address('/sources')} body={{ url: complete(url), ...edit }} cli={sourceLine('add', String(edit.url ?? complete(url)), { ...edit, url: undefined })}
              also={[
                ...(alert.kind && asked(alert) !== undefined ? [{ method: 'POST', url: address('/alerts'), body: bodyOf(alert, found.source.id, offers, edit), cli: alertLine(alert, found.source.id) }] : []),
                ...(found.fresh ? [{ method: 'DELETE', url: address('/sources/' + part(found.source.id), { purge: true }), cli: `freshet remove --purge ${quote(found.source.id)}` }] : []),
              ]} />
          </div>
        </div>
      )}
      <Outcome of={saving} />
    </Section>
  );
}

/** offersOf returns the values that were found on a page, those of a shop first. */
function offersOf(f: Looked): Offer[] {
  const found: Offer[] = [];
  for (const w of f.ways) {
    for (const [name, how] of Object.entries(w.extract ?? {})) if (!found.some((o) => o.name === name)) found.push({ name, how, now: w.fields?.[name] });
  }
  return found.filter((o) => typeof o.now !== 'string' || o.name === 'price');
}

function Answer({ of: f }: { of: Looked }) {
  if (!f.outcome) return <p class="say">It will be looked at as soon as it may{f.hold ? `: ${tidy(f.hold.reason)}` : ''}.</p>;
  if (f.outcome.result === 'failed') return <p class="wrong" role="alert">It failed: {tidy(f.outcome.error ?? f.outcome.failure ?? '')}. It is tried again later if you watch it.</p>;
  return <p class="small dim">{f.fresh ? '' : 'It is watched already. '}{bytes(f.outcome.bytes)}, answered in {span(Date.parse(f.outcome.ended) - Date.parse(f.outcome.began))}.</p>;
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
