package freshet

import (
	"crypto/sha256"
	"fmt"
	"io"
	"iter"
)

// PackedSources is a list of sources in compact form, because a configuration file may have a
// million. Sources read from it have no origin, creation time or revision.
type PackedSources struct{ definitions []string }

// PackSources packs sources.
func PackSources(sources ...Source) (p PackedSources) {
	for _, s := range sources {
		p.Add(s)
	}
	return p
}

// Add appends a source, which must be valid: see Source.Check.
func (p *PackedSources) Add(s Source) {
	p.definitions = append(p.definitions, string(s.Definition()))
}

// Len returns the number of sources.
func (p PackedSources) Len() int { return len(p.definitions) }

// At returns the ith source.
func (p PackedSources) At(i int) Source {
	s, err := ParseDefinition([]byte(p.definitions[i]))
	if err != nil { // the definition of a valid source can be parsed
		panic(fmt.Sprintf("source %d of a list: %v", i, err))
	}
	return s
}

// All returns an iterator over index-source pairs.
func (p PackedSources) All() iter.Seq2[int, Source] {
	return func(yield func(int, Source) bool) {
		for i := range p.definitions {
			if !yield(i, p.At(i)) {
				return
			}
		}
	}
}

// Hash returns a hash of the list.
func (p PackedSources) Hash() (h Hash) {
	sum := sha256.New()
	for _, d := range p.definitions {
		fmt.Fprintf(sum, "%d:", len(d))
		io.WriteString(sum, d)
	}
	return Hash(sum.Sum(nil))
}
