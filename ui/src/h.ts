// What JSX becomes; the bundler puts it into every file. No local name hides it.
export { h as $h, Fragment as $Fragment } from 'preact';
