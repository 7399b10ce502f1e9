// What the bundler puts into every file, told to the type checker.
import type { Fragment as F, h as create, JSX as All } from 'preact';

declare global {
  const $h: typeof create;
  const $Fragment: typeof F;
  namespace $h {
    namespace JSX {
      interface Element extends All.Element {}
      interface ElementClass extends All.ElementClass {}
      interface ElementChildrenAttribute extends All.ElementChildrenAttribute {}
      interface IntrinsicAttributes extends All.IntrinsicAttributes {}
      interface IntrinsicElements extends All.IntrinsicElements {}
    }
  }
}
