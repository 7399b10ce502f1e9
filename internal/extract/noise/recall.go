package noise

import "freshet/internal/freshet"

// What is looked at again of a source. Habits reach back less far than this.
const (
	// Recalled is how many of the newest outcomes of a source Recall wants.
	Recalled = 120

	mostRecalled  = 60      // versions
	recalledBytes = 8 << 20 // of their texts together
)

// Recall returns what the stored versions of a source teach, as if each of its polls
// had been judged. It goes by the newest outcomes of the source, the newest first, and
// the texts of the versions that they name, back to where its page was first read as it
// is read now. A text that cannot be read ends what is recalled.
func Recall(newest []freshet.Outcome, text func(version int) ([]byte, error)) *Memory {
	texts, size, from := map[int][]byte{}, 0, 0
	for i, o := range newest {
		if !o.Result.Seen() {
			continue
		}
		if _, known := texts[o.Version]; !known {
			if len(texts) == mostRecalled {
				break
			}
			t, err := text(o.Version)
			if size += len(t); err != nil || size > recalledBytes {
				break
			}
			texts[o.Version] = t
		}
		if from = i + 1; o.Result == freshet.First {
			break
		}
	}
	m, version := &Memory{}, 0
	for i := from - 1; i >= 0; i-- {
		switch o := newest[i]; {
		case !o.Result.Seen() || o.Version == version:
			m.Pass(1)
		case version == 0:
			version = o.Version
		default:
			m.Judge(texts[version], texts[o.Version])
			version = o.Version
		}
	}
	return m
}

// Restless reports whether a source with these newest outcomes, the newest first,
// differs often enough for a report of its noise to name a place.
func Restless(newest []freshet.Outcome) bool {
	differed, version := 0, 0
	for _, o := range newest[:min(longer+1, len(newest))] {
		if !o.Result.Seen() {
			continue
		}
		if version != 0 && o.Version != version {
			differed++
		}
		version = o.Version
	}
	return differed >= leastOften
}

// Follows reports whether the last text that the memory was given is this one. If not,
// the source has changed while nobody judged it.
func (m *Memory) Follows(text []byte) bool {
	n := len(m.versions)
	return n > 0 && m.versions[n-1] == versionOf(text)
}
