package extract

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/ledongthuc/pdf"
)

const (
	maxPDF      = 32 << 20 // bytes
	maxPDFPages = 2_000
)

func compilePDF(a argument) (func(value) (value, error), bool, error) {
	return func(v value) (value, error) {
		body, err := v.bytes()
		if err != nil {
			return v, err
		}
		text, title, err := pdfText(body)
		out := textValue(v, text)
		out.title = title
		return out, err
	}, true, a.none()
}

// isPDF reports whether a body is a PDF file: its mark stands near the start.
func isPDF(body []byte) bool {
	return bytes.Contains(body[:min(len(body), 1024)], []byte("%PDF-"))
}

// pdfText returns the text of a PDF file, page after page, and its title.
func pdfText(body []byte) (text []byte, title string, err error) {
	if len(body) > maxPDF {
		return nil, "", fail(FailLimit, "", "the PDF file has %d bytes; the most is %d MiB", len(body), maxPDF>>20)
	}
	if !isPDF(body) {
		return nil, "", fail(FailParse, "Check that the URL returns a PDF file.", "not a PDF file")
	}
	type result struct {
		text  []byte
		title string
	}
	got, err := safely(func() (result, error) {
		text, title, err := readPDF(body)
		return result{text, title}, err
	})
	if err != nil {
		return nil, "", fail(FailParse, "It may be damaged or encrypted.", "read the PDF file: %w", err)
	}
	if len(got.text) == 0 {
		return nil, "", fail(FailParse, "Its pages may be pictures.", "there is no text in the PDF file")
	}
	return got.text, got.title, nil
}

func readPDF(body []byte) (text []byte, title string, err error) {
	r, err := pdf.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return nil, "", err
	}
	title = oneLine(r.Trailer().Key("Info").Key("Title").Text(), maxTitle)
	fonts := map[string]*pdf.Font{}
	var out bytes.Buffer
	for n := 1; n <= min(r.NumPage(), maxPDFPages) && out.Len() < maxText; n++ {
		page := r.Page(n)
		if page.V.IsNull() {
			continue
		}
		out.WriteString(pdfPage(page, fonts))
	}
	text = bytes.ReplaceAll(bytes.ToValidUTF8(out.Bytes(), nil), []byte("\ufffd"), nil) // letters that the font does not name
	return plainText(text), title, nil
}

// pdfPage returns the text of a page in lines, by where its pieces stand. A page
// whose pieces have no place is read in the order of the file.
func pdfPage(page pdf.Page, fonts map[string]*pdf.Font) string {
	lines, err := safely(func() (string, error) { return pdfLines(page.Content().Text), nil })
	if err == nil && strings.TrimSpace(lines) != "" {
		return lines
	}
	text, err := safely(func() (string, error) { return page.GetPlainText(fonts) })
	if err != nil || strings.TrimSpace(text) == "" {
		return ""
	}
	return text + "\n"
}

// pdfLines puts pieces of text into lines: those at the same height, from left to
// right, with a space where there is a gap.
func pdfLines(pieces []pdf.Text) string {
	slices.SortStableFunc(pieces, func(a, b pdf.Text) int {
		if math.Abs(a.Y-b.Y) > lineHeight(a)/2 {
			return cmp.Compare(b.Y, a.Y)
		}
		return 0
	})
	var b strings.Builder
	for i := 0; i < len(pieces); {
		j := i + 1
		for j < len(pieces) && math.Abs(pieces[j].Y-pieces[i].Y) <= lineHeight(pieces[i])/2 {
			j++
		}
		line := pieces[i:j]
		slices.SortStableFunc(line, func(a, b pdf.Text) int { return cmp.Compare(a.X, b.X) })
		end := 0.0
		for k, p := range line {
			if k > 0 && p.X-end > lineHeight(p)/4 && !strings.HasPrefix(p.S, " ") {
				b.WriteByte(' ')
			}
			b.WriteString(p.S)
			switch { // a font may not tell how wide its letters are
			case p.W > 0:
				end = p.X + p.W
			case k > 0 && line[k-1].X == p.X:
				end += likelyWidth(p)
			default:
				end = p.X + likelyWidth(p)
			}
		}
		b.WriteByte('\n')
		i = j
	}
	return b.String()
}

// likelyWidth returns how wide a piece of text mostly is.
func likelyWidth(p pdf.Text) (w float64) {
	for _, r := range p.S {
		switch {
		case strings.ContainsRune("iljtfrI.,;:'!|()[]/- ", r):
			w += 0.3
		case strings.ContainsRune("mwMW@%", r):
			w += 0.8
		case unicode.IsUpper(r) || unicode.IsDigit(r):
			w += 0.55
		default:
			w += 0.46
		}
	}
	return w * lineHeight(p)
}

func lineHeight(p pdf.Text) float64 {
	if p.FontSize > 1 {
		return p.FontSize
	}
	return 10
}
