// Who changed what.
import { useState } from 'preact/hooks';
import { get } from './api';
import { tidy } from './format';
import { useAction, useLoad } from './load';
import { Button, Outcome, Section, Show, Time } from './parts';

interface Entry {
  cursor: number; at: string; user?: string; via?: string; from?: string; what: string; subject?: string; status?: number;
  before?: Record<string, unknown>; after?: Record<string, unknown>;
}
interface Page { items: Entry[]; next?: number }

/** differs says in words which fields were changed. */
function differs({ before = {}, after = {} }: Entry): string {
  const text = (v: unknown) => (v === undefined ? 'nothing' : typeof v === 'string' ? v : JSON.stringify(v));
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].sort().map((k) => (k in before ? `${k}: ${text(before[k])} → ${text(after[k])}` : `${k}: ${text(after[k])}`)).join('; ');
}

/** deed is an operation and what it was about: "add-source" and "source news" are "add source news". */
const deed = ({ what, subject = '' }: Entry) => (what.endsWith('-' + subject.split(' ')[0]) ? what.slice(0, what.indexOf('-')) : what.replaceAll('-', ' ')) + (subject && ' ' + subject);

/** Audit lists who changed what, for admins. */
export function Audit() {
  const first = useLoad<Page>((s) => get('/audit', { limit: 50 }, s), ['audit']);
  const [older, add] = useState<Page[]>([]);
  const [doing, run] = useAction();
  const next = older.length ? older[older.length - 1].next : first.data?.next;
  return (
    <Section title="Audit log" note="who changed what, and who logged in" side={<Button kind="ghost" icon="again" onClick={() => { add([]); first.reload(); }}>Reload</Button>}>
      <Show of={first}>{(page) => (
        <div class="scrolls"><table>
          <thead><tr><th scope="col">When</th><th scope="col">Who</th><th scope="col" class="desk">From</th><th scope="col">What</th></tr></thead>
          <tbody>{[page, ...older].flatMap((p) => p.items).map((e) => (
            <tr key={e.cursor}>
              <td><Time at={e.at} /></td><td class="still"><bdi>{tidy(e.user || e.via || 'a stranger')}</bdi></td><td class="mono desk">{tidy(e.from ?? '')}</td>
              <td><bdi>{tidy(deed(e))}</bdi>{(e.status ?? 0) >= 400 && <b> refused</b>}<p class="small dim"><bdi>{tidy(differs(e))}</bdi></p></td>
            </tr>
          ))}</tbody>
        </table></div>
      )}</Show>
      {next && <Button busy={doing.busy} onClick={() => void run(async () => add([...older, await get<Page>('/audit', { limit: 50, before: next })]))}>Older</Button>}
      <Outcome of={doing} />
    </Section>
  );
}
