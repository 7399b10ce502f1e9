package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"
)

// manifestName is the last file of an archive.
const manifestName = "freshet-backup.json"

// A tarSink writes the files of a backup to a tar archive.
type tarSink struct {
	to *tar.Writer
	at time.Time
}

func (t *tarSink) begin(name string, size int64) error {
	return t.to.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: t.at, Format: tar.FormatPAX})
}

func (t *tarSink) write(part []byte) error {
	_, err := t.to.Write(part)
	return err
}

func (t *tarSink) end() ([]string, error) { return nil, nil }

// Archive writes a backup as a tar archive, which zstd packs.
func (s *Source) Archive(ctx context.Context, to io.Writer) (m Manifest, err error) {
	z, err := zstd.NewWriter(to, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return m, err
	}
	t := &tarSink{tar.NewWriter(z), s.Now().UTC().Truncate(time.Second)}
	if m, err = s.copyTo(ctx, t); err != nil {
		return m, err
	}
	text, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return m, err
	}
	return m, errors.Join(t.begin(manifestName, int64(len(text))), t.write(text), t.to.Close(), z.Close())
}

// readArchive reads an archive, and shows each file while it is read. It fails if the archive ends early, or a file is not
// as it was written.
func readArchive(ctx context.Context, from io.Reader, show func(name string, content io.Reader) error) (m Manifest, err error) {
	z, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return m, err
	}
	defer z.Close()
	found := map[string]File{}
	for t := tar.NewReader(z); ; {
		if err := ctx.Err(); err != nil {
			return m, err
		}
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return m, fmt.Errorf("%w: it ends before its manifest", errDamaged)
		}
		if err != nil {
			return m, fmt.Errorf("%w: %w", errDamaged, err)
		}
		if h.Name == manifestName {
			text, err := io.ReadAll(t)
			if err != nil {
				return m, fmt.Errorf("%w: %w", errDamaged, err)
			}
			if m, err = readManifest(bytes.NewReader(text)); err != nil {
				return m, err
			}
			break
		}
		if err := localName(h.Name); err != nil || h.Typeflag != tar.TypeReg {
			return m, fmt.Errorf("%w: it has a file named %q", errDamaged, h.Name)
		}
		sum := sha256.New()
		if err := show(h.Name, io.TeeReader(archiveReader{t}, sum)); err != nil {
			return m, err
		}
		found[h.Name] = File{Name: h.Name, Size: h.Size, SHA256: hex.EncodeToString(sum.Sum(nil))}
	}
	for _, f := range m.Files {
		if is := found[f.Name]; is.Size != f.Size || is.SHA256 != f.SHA256 {
			return m, fmt.Errorf("%w: %s is not what was written", errDamaged, f.Name)
		}
		delete(found, f.Name)
	}
	for name := range found {
		return m, fmt.Errorf("%w: %s does not belong to it", errDamaged, name)
	}
	return m, nil
}

// An archiveReader says that an archive is damaged where it cannot be read.
type archiveReader struct{ from io.Reader }

// Read implements io.Reader.
func (r archiveReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", errDamaged, err)
	}
	return n, err
}
