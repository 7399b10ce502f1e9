package exporter

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"freshet/client"
	"freshet/internal/freshet"
	"freshet/internal/warc"
)

// mostPayloads is with how many of the payloads before it the payload of a version is compared.
const mostPayloads = 64

// A payload is the body of a response that was written.
type payload struct {
	Digest string `json:"digest"`
	ID     string `json:"id"` // of its record
	URL    string `json:"url"`
	Date   string `json:"date"`
}

// Archive writes versions as records of a WARC file. A response with the body of an earlier version becomes a revisit
// record, and one whose headers were not kept a resource record. It returns how many versions.
func (s *Selection) Archive(ctx context.Context, path string, stream io.Writer) (n int, err error) {
	packed := path == "" || strings.HasSuffix(path, ".gz")
	o, err := s.create("versions warc "+strconv.FormatBool(packed), path, stream)
	if err != nil {
		return 0, err
	}
	a := archive{Selection: s, output: o, to: warc.NewWriter(o, packed)}
	if o.wrote == 0 {
		err = a.begin()
	}
	if err == nil {
		err = s.eachVersion(ctx, o.Place, func(of source, v client.Version) error { return a.version(ctx, of, v) })
	}
	return o.Lines, o.end(err)
}

// An archive is a WARC file that is written.
type archive struct {
	*Selection
	*output
	to *warc.Writer
}

// begin writes what the file is.
func (a *archive) begin() error {
	info := &warc.Record{Block: []byte("software: freshet " + a.Program + "\r\nformat: WARC File Format 1.1\r\n" +
		"conformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n")}
	info.Add(warc.FieldType, warc.Info)
	info.Add(warc.FieldID, warc.ID("freshet", a.Export))
	info.Add(warc.FieldDate, warc.Time(a.Now()))
	info.Add(warc.FieldContentType, "application/warc-fields")
	return a.to.Write(info)
}

// version writes the record of a version.
func (a *archive) version(ctx context.Context, of source, v client.Version) error {
	got, err := a.Client.Sources.Response(ctx, of.id, v.Number)
	if errors.Is(err, freshet.ErrNotFound) { // pruned meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	if of.id != a.Place.Source {
		a.Payload = nil
	}
	head, body, _ := bytes.Cut(got.Message, []byte("\r\n\r\n"))
	mine := payload{Digest: warc.Digest(body), ID: warc.ID(string(of.id), strconv.Itoa(v.Number), v.Hash), URL: got.URL, Date: warc.Time(v.SeenAt)}
	if mine.URL == "" {
		mine.URL = of.url
	}
	r := &warc.Record{}
	kind := warc.Response
	if got.Method == "" || got.Method == http.MethodHead || of.rendered || !strings.HasPrefix(mine.URL, "http") {
		kind = warc.Resource // what is known is the document, and not what was sent
	}
	at := slices.IndexFunc(a.Payload, func(p payload) bool { return p.Digest == mine.Digest })
	if at >= 0 && kind == warc.Response && len(body) > 0 {
		kind = warc.Revisit
	}
	r.Add(warc.FieldType, kind)
	r.Add(warc.FieldID, mine.ID)
	r.Add(warc.FieldDate, mine.Date)
	r.Add(warc.FieldTarget, mine.URL)
	r.Add(warc.FieldPayload, mine.Digest)
	switch kind {
	case warc.Response:
		r.Add(warc.FieldContentType, warc.ContentTypeResponse)
		r.Block = got.Message
	case warc.Revisit:
		first := a.Payload[at]
		r.Add(warc.FieldContentType, warc.ContentTypeResponse)
		r.Add(warc.FieldProfile, warc.IdenticalPayload)
		r.Add(warc.FieldRefersTo, first.ID)
		r.Add(warc.FieldRefersURI, first.URL)
		r.Add(warc.FieldRefersDate, first.Date)
		r.Block = append(head, "\r\n\r\n"...)
	default:
		r.Add(warc.FieldContentType, v.MediaType)
		r.Block = body
	}
	r.Add("Freshet-Source", string(of.id))
	r.Add("Freshet-Version", strconv.Itoa(v.Number))
	if got.Method != http.MethodGet {
		r.Add("Freshet-Method", got.Method)
	}
	if err := a.to.Write(r); err != nil {
		return err
	}
	if at < 0 {
		a.Payload = append(a.Payload[max(0, len(a.Payload)+1-mostPayloads):], mine)
	}
	a.Place = place{of.id, v.Number}
	return a.reached()
}
