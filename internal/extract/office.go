package extract

import (
	"archive/zip"
	"bytes"
	"io"
	"path"
	"strings"

	"freshet/internal/freshet/reading"
)

// An officeFile is a file of Office Open XML: XML documents in an archive.
type officeFile struct {
	parts map[string]*zip.File
	left  int64 // bytes that may still be unpacked
}

// isOffice reports whether a kind is a file of Office Open XML.
func isOffice(kind reading.Kind) bool { return kind == reading.XLSX || kind == reading.DOCX }

// officeKind returns the kind of an archive by the document in it, "" if there is none.
func officeKind(body []byte) reading.Kind {
	if !bytes.HasPrefix(body, []byte("PK\x03\x04")) {
		return ""
	}
	archive, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return ""
	}
	for _, f := range archive.File {
		switch f.Name {
		case "xl/workbook.xml":
			return reading.XLSX
		case "word/document.xml":
			return reading.DOCX
		}
	}
	return ""
}

// openOffice opens a file; what names it in errors.
func openOffice(body []byte, what string) (*officeFile, error) {
	archive, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return nil, fail(FailParse, "Check that the URL returns the file itself.", "not %s: %w", what, err)
	}
	f := &officeFile{parts: map[string]*zip.File{}, left: maxUnpacked}
	for _, part := range archive.File {
		f.parts[part.Name] = part
	}
	return f, nil
}

// part unpacks a part of the file.
func (f *officeFile) part(name string) ([]byte, error) {
	part := f.parts[name]
	if part == nil {
		return nil, fail(FailParse, "", "the file has no %s", name)
	}
	r, err := part.Open()
	if err != nil {
		return nil, fail(FailParse, "", "unpack the file: %w", err)
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, f.left+1))
	if err != nil {
		return nil, fail(FailParse, "", "unpack the file: %w", err)
	}
	if f.left -= int64(len(b)); f.left < 0 {
		return nil, fail(FailLimit, "", "the file is larger than %d MiB when unpacked", maxUnpacked>>20)
	}
	return b, nil
}

// partAt returns the name of the part that a reference in a folder leads to.
func partAt(folder, target string) string {
	if !path.IsAbs(target) {
		target = path.Join("/", folder, target)
	}
	return strings.TrimPrefix(path.Clean(target), "/")
}
