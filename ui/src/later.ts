// Screens that are not opened first: one part of the script, loaded when the first of them is opened.
export { Lab } from './lab';
export { Program } from './program';
export { Queries } from './queries';
export { Sinks } from './sinks';
export { Start } from './start';
export { SourceSettings } from './settings';
