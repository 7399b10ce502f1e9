// What is chosen is in the address: the path, and what follows the question mark.
import { signal } from '@preact/signals';

export interface Place { path: string; query: URLSearchParams }

const read = (): Place => ({ path: location.pathname, query: new URLSearchParams(location.search) });

/** here is where the reader is. */
export const here = signal<Place>(read());

/** leave asks the screen that is shown whether it may be left; a draft may say no. */
export const leave = signal<null | (() => boolean)>(null);

/** seek brings the part of a screen into view that the address names, when it is there. */
function seek(id: string, tries = 60) {
  const part = document.getElementById(id);
  if (part) part.scrollIntoView();
  else if (tries > 0) setTimeout(() => seek(id, tries - 1), 50);
}

if (location.hash) seek(location.hash.slice(1));

function arrive(moved: boolean) {
  const before = here.value.path;
  here.value = read();
  if (moved && location.hash) seek(location.hash.slice(1));
  if (!moved || before === here.value.path) return;
  scrollTo(0, 0);
  document.getElementById('main')?.focus({ preventScroll: true });
}

/** go leads to an address of the page. */
export function go(to: string, replace = false): void {
  if (to === location.pathname + location.search + location.hash) return;
  const other = new URL(to, location.href).pathname !== location.pathname;
  if (other && leave.value && !leave.value()) return;
  if (other) leave.value = null;
  history[replace ? 'replaceState' : 'pushState'](null, '', to);
  arrive(true);
}

/** choose changes what follows the question mark; empty values go. */
export function choose(values: Record<string, string | undefined | null>, replace = true): void {
  const q = new URLSearchParams(location.search);
  for (const [key, value] of Object.entries(values)) {
    if (value) q.set(key, value);
    else q.delete(key);
  }
  const text = q.toString();
  go(location.pathname + (text ? '?' + text : ''), replace);
}

addEventListener('popstate', () => arrive(true));

// Links within the page change the screen without reloading it.
document.addEventListener('click', (e) => {
  if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
  const link = (e.target as Element).closest?.('a');
  if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
  if (link.pathname.startsWith('/api/') || (link.hash && link.pathname === location.pathname) || 'away' in link.dataset) return;
  e.preventDefault();
  go(link.pathname + link.search + link.hash);
});
