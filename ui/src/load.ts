// Data of a screen: what is shown stays during a reload, and when a reload fails.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Problem } from './api';
import { back } from './live';

export interface Loaded<T> {
  data: T | undefined;
  problem: Problem | undefined;
  slow: boolean; // nothing is there yet, and it takes longer than a moment
  at: number; // when data came
  reload: () => void;
  set: (data: T) => void;
}

/** useLoad loads when a key changes, when asked to, every so often, and when the daemon is back. */
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, keys: unknown[], every = 0): Loaded<T> {
  const [state, change] = useState<{ data?: T; problem?: Problem; slow: boolean; at: number; key: string }>({ slow: false, at: 0, key: '' });
  const [turn, again] = useState(0);
  const key = JSON.stringify(keys);
  const was = useRef('');
  useLayoutEffect(() => { // before the first paint: the answer may be there already
    const stop = new AbortController();
    let timer = 0;
    if (was.current !== key) change((s) => ({ ...s, data: undefined, problem: undefined, slow: false, key }));
    was.current = key;
    const patience = window.setTimeout(() => change((s) => ({ ...s, slow: s.data === undefined && !s.problem })), 200);
    const run = async () => {
      try {
        const data = await load(stop.signal);
        if (!stop.signal.aborted) change({ data, slow: false, at: Date.now(), key });
      } catch (err) {
        if (stop.signal.aborted) return;
        const problem = err instanceof Problem ? err : new Problem(String((err as Error).message ?? err), -1);
        change((s) => ({ ...s, problem, slow: false }));
      }
      if (every && !stop.signal.aborted) timer = window.setTimeout(tick, every);
    };
    const tick = () => {
      if (document.hidden) timer = window.setTimeout(tick, every); // hidden tabs pause
      else void run();
    };
    void run();
    return () => {
      stop.abort();
      clearTimeout(patience);
      clearTimeout(timer);
    };
  }, [key, turn, back.value, every]);
  const mine = state.key === key || state.key === '';
  return {
    data: mine ? state.data : undefined,
    problem: mine ? state.problem : undefined,
    slow: state.slow,
    at: state.at,
    reload: () => again((n) => n + 1),
    set: (data: T) => change((s) => ({ ...s, data, problem: undefined })),
  };
}

/** useTicker redraws at intervals, so that "3 min ago" stays true. */
export function useTicker(every: number): number {
  const [now, set] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => document.hidden || set(Date.now()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}

export interface Doing { busy: boolean; problem?: Problem; done?: string }

/** useAction runs something that a person asked for, and says where it stands. */
export function useAction(): [Doing, (what: () => Promise<string | void>) => Promise<boolean>, () => void] {
  const [state, set] = useState<Doing>({ busy: false });
  const run = async (what: () => Promise<string | void>) => {
    set({ busy: true });
    try {
      const done = await what();
      set({ busy: false, done: done || undefined });
      return true;
    } catch (err) {
      set({ busy: false, problem: err instanceof Problem ? err : new Problem(String((err as Error).message ?? err), -1) });
      return false;
    }
  };
  return [state, run, () => set({ busy: false })];
}
