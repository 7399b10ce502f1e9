package wrongpage

// CompareWords returns how many words two texts have, and how many in common.
func CompareWords(a, b []byte) (inA, inB, both int) { return overlapOf(a, b).words() }

// SignTexts returns what signs in the text of a page are known by.
func SignTexts() (texts []string) {
	for _, s := range phrases {
		texts = append(texts, s.text)
	}
	return texts
}

// FindSigns returns those that a text has.
func FindSigns(text []byte) map[string]bool {
	found := map[sign]bool{}
	phraseFinder.find(text, found)
	texts := map[string]bool{}
	for s := range found {
		texts[s.text] = true
	}
	return texts
}

// Plain returns a text as signs are looked for in it.
func Plain(text string) string { return string(plain([]byte(text))) }
