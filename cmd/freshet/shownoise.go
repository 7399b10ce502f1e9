package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"freshet/client"
)

// noiseInWords says where a source changes at nearly every poll, what becomes of that,
// and what to do about it.
func noiseInWords(s client.Source) (lines []string) {
	n := s.Standing.Noise
	if n == nil {
		if s.Is(client.Noisy) {
			lines = append(lines, fmt.Sprintf("it changes at almost every poll; watch only the part you need (freshet edit %s --css SELECTOR), or poll it less often (--min-gap 1h)", s.ID))
		}
		return lines
	}
	lines = append(lines, n.String()+":")
	for _, p := range n.Places {
		lines = append(lines, "- "+harmless(p.String()))
	}
	if n.Only > 0 && s.Noise != "auto" { // with auto, how many were not told is said elsewhere
		lines = append(lines, fmt.Sprintf("with noise: auto, %d of these %d changes would not have been told (freshet edit %s --noise auto)", n.Only, n.Differ, s.ID))
	}
	if try := stepFlags(n.Places); try != "" && len(s.Read) == 0 && s.Select == (client.Select{}) {
		lines = append(lines, fmt.Sprintf("to see which changes are left with these steps: freshet test %s%s --history", s.ID, try))
	}
	return lines
}

// stepFlags returns the steps that leave places out as flags of the verb "test".
func stepFlags(places []client.NoisePlace) (flags string) {
	for _, p := range places {
		step, ok := p.Step.(map[string]any) // of one name
		if !ok {
			continue
		}
		for name, arg := range step {
			text, plain := arg.(string)
			if !plain {
				written, err := json.Marshal(arg)
				if err != nil {
					continue
				}
				text = string(written)
			}
			if !strings.Contains(text, "'") {
				flags += fmt.Sprintf(" --%s '%s'", name, harmless(text))
			}
		}
	}
	return flags
}
