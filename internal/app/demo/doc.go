// Package demo is the demo without its view: a daemon that watches a synthetic
// web whose truth is known, and a judge who knows both sides.
package demo
