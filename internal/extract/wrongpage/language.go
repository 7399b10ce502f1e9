package wrongpage

import (
	"bytes"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"freshet/internal/lazyregexp"
)

// otherLanguage reports whether a page is in another language than before: by its
// words, or by what its markup says where those do not tell.
func otherLanguage(p Page, past *Past) bool {
	if len(past.Text) < enoughText || len(p.Text) < enoughText {
		return false
	}
	was, is := languageOf(past.Text), languageOf(p.Text)
	if was != "" && is != "" {
		return was != is
	}
	if past.Body == nil {
		return false
	}
	before, now := declared(past.Body()), declared(p.Body)
	return before != "" && now != "" && before != now
}

const (
	enoughText = 150  // bytes that tell a language
	mostOfAll  = 0.6  // of the letters that are of one script
	stopShare  = 0.06 // of the words that are among the most common ones of a language
	clearLead  = 1.5  // times as many as of the next language
)

// scripts are those that tell a language or a family of them.
var scripts = map[string][]*unicode.RangeTable{
	"ja": {unicode.Hiragana, unicode.Katakana}, "zh": {unicode.Han}, "ko": {unicode.Hangul}, "cyrillic": {unicode.Cyrillic},
	"ar": {unicode.Arabic}, "he": {unicode.Hebrew}, "el": {unicode.Greek}, "th": {unicode.Thai}, "hi": {unicode.Devanagari},
}

// firstOfScripts is the first letter of any of them: that of Greek.
const firstOfScripts = 0x0370

// stopwords are the most common words of languages that share a script.
var stopwords = map[string]string{
	"en": "the of and to in is you for that it with are this on your be we have not from by at or as our can will more all",
	"de": "der die das und ist nicht sie ein eine mit für auf den von zu im dem wir sich auch werden oder des bei nach wird sind haben ihre",
	"fr": "le la les des et est vous une un pour que dans pas sur avec du nous votre sont plus ce par au aux cette être ou qui",
	"es": "el la los las de y que en una un por con para su es no se del al como más este esta son o sus todos usted nuestro",
	"it": "il di che la le un una per non con del sono della si gli dei nel alla più è questo anche come i da al delle nostro",
	"pt": "o a os as de que e do da em um uma para com não por no na se dos são mais como ao das sua seu você nosso",
	"nl": "de het een van en in is dat op te voor met zijn niet aan je wij u er ook als bij om naar deze worden onze uw",
	"pl": "i w na nie z do to się jest że o jak co po za od przez dla są oraz lub być tylko już ten tym",
	"sv": "och att det som en på är av för med till den inte om ett har vi du kan från var eller så din vår",
	"tr": "ve bir bu için ile de da olarak daha çok en gibi olan ne kadar sonra her ya veya ama sizin tüm",
}

// stops has the languages by word.
var stops = sync.OnceValue(func() map[string][]string {
	by := map[string][]string{}
	for language, list := range stopwords {
		for word := range strings.FieldsSeq(list) {
			by[word] = append(by[word], language)
		}
	}
	return by
})

// languageOf returns the language of a text, or its script, "" if it is not clear.
func languageOf(text []byte) string {
	letters, of := 0, map[string]int{}
	for text := clip(text, mostText); len(text) > 0; {
		r, size := utf8.DecodeRune(text)
		text = text[size:]
		if !unicode.IsLetter(r) {
			continue
		}
		letters++
		if r < firstOfScripts {
			continue
		}
		for name, tables := range scripts {
			if unicode.In(r, tables...) {
				of[name]++
			}
		}
	}
	if of["ja"]*5 > letters { // with many Han letters among them
		return "ja"
	}
	for name, n := range of {
		if float64(n) >= mostOfAll*float64(letters) {
			return name
		}
	}
	return commonest(wordsOf(text))
}

// commonest returns the language whose common words a text has, if one leads.
func commonest(w words) string {
	found := map[string]int{}
	for word, n := range w.of {
		for _, language := range stops()[word] {
			found[language] += n
		}
	}
	best, first, second := "", 0, 0
	for language, n := range found {
		switch {
		case n > first || n == first && language < best:
			best, first, second = language, n, first
		case n > second:
			second = n
		}
	}
	if float64(first) < stopShare*float64(w.all) || float64(first) < clearLead*float64(second) {
		return ""
	}
	return best
}

var langAttribute = lazyregexp.New(`(?is)<html[^>]*?\slang\s*=\s*["']?([a-z]{2,3})\b`)

// declared returns the language that the markup of a page says it is in.
func declared(body []byte) string {
	if m := langAttribute.FindSubmatch(clip(body, 8<<10)); m != nil {
		return string(bytes.ToLower(m[1]))
	}
	return ""
}
