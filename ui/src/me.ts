// Who is looking, and what they may do.
import { signal } from '@preact/signals';

export interface Session {
  known: boolean; user?: string; role?: 'viewer' | 'editor' | 'admin'; via?: string; scopes: string[]; tag?: string; source?: string; query?: string;
  expires?: string; open: boolean; notice?: string; secure: boolean; provider?: string; guest?: boolean;
}

/** me is who the reader is to the daemon; undefined until that is known. */
export const me = signal<Session | undefined>(undefined);

/** guest says whether the reader came by a link, and sees one source or query alone. */
export const guest = () => !!(me.value?.source || me.value?.query);

/** A Need is the right that something takes; none is for strangers, too. */
export type Need = 'none' | 'read' | 'write' | 'admin';

/** may says whether the reader may do something. What they may not is not shown. */
export const may = (need: Need) => need === 'none' || (me.value?.scopes.includes(need) ?? false);
