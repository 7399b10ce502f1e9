// What may help with a page in trouble: each a button and a command.
import { address, part, Problem, send } from './api';
import { tidy } from './format';
import { useAction } from './load';
import { AsLines, Button, Outcome, sourcePath, type Act } from './parts';
import { may } from './me';
import type { Outcome as Poll, Remedy, Source } from './types';

/** How a remedy is carried out for a source; undefined if that takes a person. */
function requestOf(s: Source, r: Remedy): (Act & { send: () => Promise<string> }) | undefined {
  const path = '/sources/' + part(s.id);
  if (r.edit) {
    const done: Record<string, string> = { render: 'It is rendered from the next poll on.', ignore: 'Those parts are ignored now.', follow: 'It is watched there now.', pause: 'It is paused.' };
    return {
      method: 'PATCH', url: address(path), body: r.edit, cli: r.command,
      send: async () => {
        await send('PATCH', path, r.edit);
        if (r.what !== 'pause' && r.what !== 'slower') await send('POST', path + '/poll', undefined, { wait: '0' });
        return done[r.what] ?? 'It applies from the next poll.';
      },
    };
  }
  if (r.what === 'accept') {
    const query = { version: s.standing.held?.version };
    return {
      method: 'POST', url: address(path + '/confirm', query), cli: r.command,
      send: async () => {
        await send('POST', path + '/confirm', undefined, query);
        return s.standing.held ? 'It is reported as a change.' : 'Later polls compare with it.';
      },
    };
  }
  if (r.what === 'poll') {
    const query = { wait: '20s', now: true };
    return {
      method: 'POST', url: address(path + '/poll', query), cli: r.command,
      send: async () => {
        const { outcome } = await send<{ outcome?: Poll }>('POST', path + '/poll', undefined, query);
        if (outcome?.result === 'failed') throw new Problem('It failed again: ' + (outcome.error ?? outcome.failure ?? ''), -1);
        return outcome ? 'It answers again.' : 'It will be polled as soon as it may.';
      },
    };
  }
  return undefined;
}

/** places are where a person carries out the others. */
const places: Record<string, string> = { login: '/settings#request', choose: '/settings#choose', consent: '/settings#render' };

/** Remedies offers what may help with a source; terse leaves out the reasons. */
export function Remedies({ of: s, reload, terse }: { of: Source; reload: () => void; terse?: boolean }) {
  const [doing, run] = useAction();
  const all = s.standing.remedies ?? [];
  if (all.length === 0 || !may('write')) return null;
  const requests = all.map((r) => requestOf(s, r));
  const lines = requests.flatMap((r) => (r ? [{ method: r.method, url: r.url, body: r.body, cli: r.cli }] : []));
  const mend = (send: () => Promise<string>) => void run(async () => {
    const said = await send();
    setTimeout(reload, terse ? 1500 : 0); // what was done stays to be read
    return said;
  });
  return (
    <div class="remedies">
      {all.map((r, i) => (
        <span class="row wrap" key={r.what}>
          {requests[i] ? <Button kind={terse ? 'link' : i === 0 ? 'main' : undefined} busy={doing.busy} label={terse ? `${r.words}: ${s.id}` : undefined} onClick={() => mend(requests[i]!.send)}>{r.words}</Button>
            : places[r.what] ? <a class={terse ? 'button link' : i === 0 ? 'button main' : 'button'} href={sourcePath(s.id, places[r.what])}>{r.words}</a> : <b>{r.words}</b>}
          {!terse && <span class="small dim grow">{tidy(r.why)} {!requests[i] && !places[r.what] && r.command && <code class="mono">{r.command}</code>}</span>}
        </span>
      ))}
      {lines[0] && <AsLines {...lines[0]} also={lines.slice(1)} />}
      {(doing.done || doing.problem) && <Outcome of={doing} />}
    </div>
  );
}
