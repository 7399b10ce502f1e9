package exporter

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"freshet/internal/freshet"
)

// saveEvery is how often an export notes how far it has come.
const saveEvery = time.Second

// stateSuffix ends the name of the file that says how far an export to a file has come. It is deleted at the end.
const stateSuffix = ".state"

// A state is how far an export has come.
type state struct {
	Export  string        `json:"export"` // what is exported; another export does not go on with it
	Bytes   int64         `json:"bytes"`  // of the file; what follows was not finished
	Place   place         `json:"place,omitzero"`
	After   freshet.Place `json:"after,omitzero"`
	Lines   int           `json:"lines"`
	Payload []payload     `json:"payloads,omitempty"`
}

// An output is where an export is written: a file that an export can go on with, or a stream.
type output struct {
	*bufio.Writer
	state

	file  *os.File // nil if it is a stream
	path  string
	wrote int64
	saved time.Time
	now   func() time.Time
}

// create opens the output of an export: path or, if that is "", a stream. An export of the same to the same file
// that was interrupted goes on: its state says from where.
func (s *Selection) create(export, path string, stream io.Writer) (*output, error) {
	o := &output{path: path, now: s.Now, saved: s.Now()}
	o.Export = fmt.Sprintf("%s source=%s tag=%s since=%s until=%s", export, s.Source, s.Tag, day(s.Seen.Since), day(s.Seen.Until))
	if path == "" {
		o.Writer = bufio.NewWriterSize(stream, 64<<10)
		return o, nil
	}
	if err := o.open(); err != nil {
		return nil, fmt.Errorf("export to %s: %w", path, err)
	}
	o.Writer = bufio.NewWriterSize(counter{o}, 64<<10)
	return o, nil
}

func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// open opens the file, and cuts off what an interrupted export has not finished.
func (o *output) open() (err error) {
	var before state
	text, err := os.ReadFile(o.path + stateSuffix)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if o.file, err = os.OpenFile(o.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600); err != nil {
			return err
		}
		return o.save()
	case err != nil:
		return err
	case json.Unmarshal(text, &before) != nil || before.Export != o.Export:
		return freshet.WithHint(errors.New("another export to this file was interrupted"), "repeat that one to finish it, write to another file, or delete "+o.path+stateSuffix)
	}
	if o.file, err = os.OpenFile(o.path, os.O_WRONLY, 0); err != nil {
		return err
	}
	info, err := o.file.Stat()
	if err == nil && info.Size() < before.Bytes {
		err = freshet.WithHint(errors.New("it is shorter than the export that was interrupted"), "delete "+o.path+stateSuffix+" to begin again")
	}
	if err == nil {
		err = o.file.Truncate(before.Bytes)
	}
	if err == nil {
		_, err = o.file.Seek(before.Bytes, io.SeekStart)
	}
	if err != nil {
		return errors.Join(err, o.file.Close())
	}
	o.state, o.wrote = before, before.Bytes
	return nil
}

// A counter counts what is written to the file of an output.
type counter struct{ *output }

// Write implements io.Writer.
func (c counter) Write(p []byte) (int, error) {
	n, err := c.file.Write(p)
	c.wrote += int64(n)
	return n, err
}

// reached notes that all up to the present place was written, now and then on the disk.
func (o *output) reached() error {
	o.Lines++
	if o.file == nil || o.now().Sub(o.saved) < saveEvery {
		return nil
	}
	return o.save()
}

// save writes down how far the export has come.
func (o *output) save() error {
	if o.Writer != nil {
		if err := o.Flush(); err != nil {
			return err
		}
	}
	if err := o.file.Sync(); err != nil {
		return err
	}
	o.Bytes = o.wrote
	text, err := json.Marshal(o.state)
	if err != nil {
		return err
	}
	part := o.path + stateSuffix + ".part"
	if err := os.WriteFile(part, text, 0o600); err != nil {
		return err
	}
	o.saved = o.now()
	return os.Rename(part, o.path+stateSuffix)
}

// end closes the output. The export is whole if err is nil; otherwise it can be repeated, and goes on.
func (o *output) end(err error) error {
	if o.file == nil {
		return errors.Join(err, o.Flush())
	}
	if err != nil {
		return errors.Join(err, o.save(), o.file.Close())
	}
	if err := errors.Join(o.Flush(), o.file.Sync(), o.file.Close()); err != nil {
		return err
	}
	return os.Remove(o.path + stateSuffix)
}
