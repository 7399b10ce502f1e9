// Package suggest finds the word that was probably meant by one that nobody knows.
package suggest
