// Command image makes the container image of one platform from a program, the certificates of the
// web and nothing else, without a container engine. The same input makes the same bytes.
//
//	image -program FILE -arch amd64 -certificates FILE -notices FILE -version V -time UNIX -out FILE
package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// nobody is the user and the group that the image runs as.
const nobody = 65532

// A recipe says what goes into an image.
type recipe struct {
	program, certificates, notices string
	arch, version                  string
	created                        int64
}

func main() {
	var r recipe
	out := flag.String("out", "", "OCI archive to write")
	flag.StringVar(&r.program, "program", "", "static program for Linux")
	flag.StringVar(&r.certificates, "certificates", "/etc/ssl/certs/ca-certificates.crt", "CA certificates of the web in PEM")
	flag.StringVar(&r.notices, "notices", "", "licences of what the program contains")
	flag.StringVar(&r.arch, "arch", "amd64", "amd64, arm64 or arm/v7")
	flag.StringVar(&r.version, "version", "", "version of the program")
	flag.Int64Var(&r.created, "time", 0, "time of all files, in Unix seconds")
	flag.Parse()
	if err := r.write(*out); err != nil {
		log.Fatalf("image: %v", err)
	}
}

// write writes the image as an archive of an OCI layout, which podman and docker load.
func (r recipe) write(out string) error {
	image, err := r.image()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(out), "layout")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	to, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	err = to.AppendImage(image, layout.WithPlatform(r.platform()), layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": r.version, "io.containerd.image.name": "localhost/freshet:" + r.version,
	}))
	if err != nil {
		return err
	}
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	return cmp.Or(r.archive(os.DirFS(dir), file), file.Close())
}

func (r recipe) platform() v1.Platform {
	arch, variant, _ := strings.Cut(r.arch, "/")
	return v1.Platform{OS: "linux", Architecture: arch, Variant: variant}
}

// image returns the image: one layer, and how it is run.
func (r recipe) image() (v1.Image, error) {
	var files bytes.Buffer
	if err := r.files(&files); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.AppendLayers(image, layer); err != nil {
		return nil, err
	}
	platform := r.platform()
	return mutate.ConfigFile(image, &v1.ConfigFile{
		OS: platform.OS, Architecture: platform.Architecture, Variant: platform.Variant,
		Created: v1.Time{Time: time.Unix(r.created, 0).UTC()},
		RootFS:  rootOf(image),
		Config: v1.Config{
			User: fmt.Sprintf("%d:%d", nobody, nobody), Entrypoint: []string{"/usr/bin/freshet"}, Cmd: []string{"serve"},
			Env:          []string{"FRESHET_DATA=/data", "FRESHET_LISTEN=0.0.0.0:8080", "PATH=/usr/bin"},
			ExposedPorts: map[string]struct{}{"8080/tcp": {}}, Volumes: map[string]struct{}{"/data": {}},
			Healthcheck: &v1.HealthConfig{Test: []string{"CMD", "/usr/bin/freshet", "settings", "--json"}, Interval: time.Minute, Timeout: 10 * time.Second, StartPeriod: time.Minute},
			Labels:      map[string]string{"org.opencontainers.image.title": "freshet", "org.opencontainers.image.version": r.version, "org.opencontainers.image.licenses": "Apache-2.0"},
		},
	})
}

func rootOf(image v1.Image) v1.RootFS {
	config, err := image.ConfigFile()
	if err != nil {
		panic(err) // it was made from memory
	}
	return config.RootFS
}

// files writes what is in the image.
func (r recipe) files(w io.Writer) error {
	t := tar.NewWriter(w)
	for _, dir := range []struct {
		name  string
		mode  int64
		owner int
	}{{"etc/", 0o755, 0}, {"etc/ssl/", 0o755, 0}, {"etc/ssl/certs/", 0o755, 0}, {"usr/", 0o755, 0}, {"usr/bin/", 0o755, 0}, {"usr/share/", 0o755, 0},
		{"usr/share/doc/", 0o755, 0}, {"usr/share/doc/freshet/", 0o755, 0}, {"data/", 0o700, nobody}, {"tmp/", 0o1777, 0}} {
		err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir.name, Mode: dir.mode, Uid: dir.owner, Gid: dir.owner, ModTime: time.Unix(r.created, 0)})
		if err != nil {
			return err
		}
	}
	passwd := fmt.Sprintf("root:x:0:0::/:\nfreshet:x:%d:%d::/data:\n", nobody, nobody)
	for _, file := range []struct {
		name, from string
		text       string
		mode       int64
	}{{"etc/passwd", "", passwd, 0o644}, {"etc/ssl/certs/ca-certificates.crt", r.certificates, "", 0o644},
		{"usr/bin/freshet", r.program, "", 0o755}, {"usr/share/doc/freshet/copyright", r.notices, "", 0o644}} {
		text := []byte(file.text)
		if file.from != "" {
			var err error
			if text, err = os.ReadFile(file.from); err != nil {
				return err
			}
		}
		if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: file.name, Mode: file.mode, Size: int64(len(text)), ModTime: time.Unix(r.created, 0)}); err != nil {
			return err
		}
		if _, err := t.Write(text); err != nil {
			return err
		}
	}
	return t.Close()
}

// archive writes a directory as an archive in which only names, modes and contents count.
func (r recipe) archive(dir fs.FS, w io.Writer) error {
	t := tar.NewWriter(w)
	err := fs.WalkDir(dir, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(dir, name)
		if err != nil {
			return err
		}
		if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(text)), ModTime: time.Unix(r.created, 0)}); err != nil {
			return err
		}
		_, err = t.Write(text)
		return err
	})
	return cmp.Or(err, t.Close())
}
