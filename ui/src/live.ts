// Changes as they come. A browser allows six connections to a host, so its tabs share
// one stream: a lock chooses the tab that listens, and a channel tells the others.
import { signal } from '@preact/signals';
import { get, onReach, Problem } from './api';
import type { Change, Cursor, Status } from './types';

/** up is whether the daemon answers; since is when it was last heard of. */
export const up = signal(true);
export const heard = signal(Date.now());

type Listener = (changes: Change[]) => void;
const listeners = new Set<Listener>();
let last: Cursor = '0'; // of the newest change that this tab has

/** number is the place of a cursor in its log. */
export const number = (c: Cursor | undefined) => (c ? parseInt(c, 10) || 0 : 0);

/** later reports whether a change comes after a cursor. After a restore numbers begin lower, in another life. */
const later = (c: Cursor, than: Cursor) => number(c) > number(than) || c.split('~')[1] !== than.split('~')[1];

const channel = new BroadcastChannel('freshet');

type Message = { kind: 'changes'; changes: Change[] } | { kind: 'up'; up: boolean } | { kind: 'gap' };

/** gap counts how often more was missed than the stream could deliver: screens reload. */
export const gap = signal(0);

/** onChanges calls f with changes as they come, oldest first. */
export function onChanges(f: Listener): () => void {
  listeners.add(f);
  return () => listeners.delete(f);
}

/** begin follows the changes after a cursor. The first caller says where. */
export function begin(cursor: Cursor): void {
  if (number(cursor) > number(last)) last = cursor;
  if (started) return;
  started = true;
  if (navigator.locks) void navigator.locks.request('freshet-stream', () => new Promise<never>(listen));
  else listen();
}
let started = false;

function reach(is: boolean) {
  if (is) heard.value = Date.now();
  up.value = is;
}

function take(m: Message) {
  if (m.kind === 'up') return reach(m.up);
  if (m.kind === 'gap') {
    gap.value++;
    return;
  }
  const fresh = m.changes.filter((c) => later(c.cursor, last));
  if (fresh.length === 0) return;
  last = fresh[fresh.length - 1].cursor;
  reach(true);
  listeners.forEach((f) => f(fresh));
}

function tell(m: Message) {
  take(m);
  channel.postMessage(m);
}

channel.onmessage = (e) => take(e.data as Message);
onReach(reach);

// listen holds the one connection of this browser.
function listen() {
  let waiting: Change[] = [];
  let timer = 0;
  let stranger = false;
  const flush = () => {
    timer = 0;
    const changes = waiting;
    waiting = [];
    if (changes.length > 500) tell({ kind: 'gap' });
    tell({ kind: 'changes', changes });
  };
  const open = () => {
    const stream = new EventSource('/api/v1/changes/stream?after=' + encodeURIComponent(last));
    stream.onopen = () => tell({ kind: 'up', up: true });
    stream.addEventListener('change', (e) => hear(e as MessageEvent));
    stream.onerror = () => {
      tell({ kind: 'up', up: false });
      if (stream.readyState !== EventSource.CLOSED) return; // it tries again by itself
      setTimeout(reopen, 3000);
    };
  };
  // A stream that was refused begins at the end: the data may be others than before.
  const reopen = async () => {
    try {
      last = (await get<Status>('/status')).last_change;
      tell({ kind: 'gap' });
    } catch (err) {
      stranger = err instanceof Problem && err.status === 401;
      if (stranger) return; // until somebody has logged in
    }
    open();
  };
  back.subscribe(() => {
    if (!stranger) return;
    stranger = false;
    void reopen();
  });
  const hear = (e: MessageEvent) => {
    waiting.push((JSON.parse(e.data) as { data: Change }).data);
    if (!timer) timer = window.setTimeout(flush, 250); // few paints for many changes
  };
  open();
}

/** settle ends a stretch in which the daemon was away: screens reload. */
export const back = signal(0);
let was = true;
up.subscribe((is) => {
  if (is && !was) back.value++;
  was = is;
});
