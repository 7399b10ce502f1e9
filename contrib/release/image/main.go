// Command image makes the container image of one platform from a program, the certificates of the
// web and, if given, a root file system as the layer below, without a container engine. The same
// input makes the same bytes.
//
//	image -program FILE -arch amd64 -certificates FILE -notices FILE [-base TAR] -version V -time UNIX -out FILE
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"time"
)

// nobody is the user and the group that the image runs as.
const nobody = 65532

// A recipe says what goes into an image.
type recipe struct {
	program, certificates, notices, base string
	arch, version                        string
	created                              int64
}

func main() {
	var r recipe
	out := flag.String("out", "", "OCI archive to write")
	flag.StringVar(&r.program, "program", "", "static program for Linux")
	flag.StringVar(&r.certificates, "certificates", "/etc/ssl/certs/ca-certificates.crt", "CA certificates of the web in PEM")
	flag.StringVar(&r.notices, "notices", "", "licences of what the program contains")
	flag.StringVar(&r.base, "base", "", "archive of the root file system below, if any")
	flag.StringVar(&r.arch, "arch", "amd64", "amd64 or arm64")
	flag.StringVar(&r.version, "version", "", "version of the program")
	flag.Int64Var(&r.created, "time", 0, "time of all files, in Unix seconds")
	flag.Parse()
	if err := r.write(*out); err != nil {
		log.Fatalf("image: %v", err)
	}
}

// A file is one of an archive; one without text whose name ends with a slash is a directory.
type file struct {
	name  string
	text  []byte
	mode  int64
	owner int
}

// archive writes files, in which only names, owners, modes and contents count.
func (r recipe) archive(w io.Writer, files []file) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Uid: f.owner, Gid: f.owner, Size: int64(len(f.text)), ModTime: time.Unix(r.created, 0)}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(f.text); err != nil {
			return err
		}
	}
	return t.Close()
}

// files returns what is in the image.
func (r recipe) files() (all []file, err error) {
	for _, dir := range []string{"etc/", "etc/ssl/", "etc/ssl/certs/", "usr/", "usr/bin/", "usr/share/", "usr/share/doc/", "usr/share/doc/freshet/"} {
		all = append(all, file{name: dir, mode: 0o755})
	}
	all = append(all, file{name: "data/", mode: 0o700, owner: nobody}, file{name: "tmp/", mode: 0o1777},
		file{name: "etc/passwd", mode: 0o644, text: fmt.Appendf(nil, "root:x:0:0::/:\nfreshet:x:%d:%d::/data:\n", nobody, nobody)})
	for _, from := range []struct {
		name, path string
		mode       int64
	}{{"etc/ssl/certs/ca-certificates.crt", r.certificates, 0o644}, {"usr/bin/freshet", r.program, 0o755}, {"usr/share/doc/freshet/copyright", r.notices, 0o644}} {
		text, err := os.ReadFile(from.path)
		if err != nil {
			return nil, err
		}
		all = append(all, file{name: from.name, mode: from.mode, text: text})
	}
	return all, nil
}

// layers returns what writes the layers, the lowest first.
func (r recipe) layers() (all []func(io.Writer) error, err error) {
	if r.base != "" {
		all = append(all, func(w io.Writer) error {
			f, err := os.Open(r.base)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = io.Copy(w, f)
			return err
		})
	}
	files, err := r.files()
	return append(all, func(w io.Writer) error { return r.archive(w, files) }), err
}

// object is a JSON object, whose keys are written in order.
type object = map[string]any

// blobs are the contents of a layout.
type blobs struct{ files []file }

// add adds a content and returns how others refer to it.
func (b *blobs) add(kind string, text []byte) object {
	digest := fmt.Sprintf("%x", sha256.Sum256(text))
	b.files = append(b.files, file{name: "blobs/sha256/" + digest, mode: 0o644, text: text})
	return object{"mediaType": kind, "digest": "sha256:" + digest, "size": len(text)}
}

// addJSON adds a document.
func (b *blobs) addJSON(kind string, v any) object {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // it has only texts and numbers
	}
	return b.add(kind, text)
}

// addLayer adds a layer and returns how the manifest and the configuration refer to it.
func (b *blobs) addLayer(write func(io.Writer) error) (layer object, id string, err error) {
	var zipped bytes.Buffer
	plain := sha256.New()
	z := gzip.NewWriter(&zipped)
	if err := errors.Join(write(io.MultiWriter(z, plain)), z.Close()); err != nil {
		return nil, "", err
	}
	return b.add(media+"layer.v1.tar+gzip", zipped.Bytes()), fmt.Sprintf("sha256:%x", plain.Sum(nil)), nil
}

const media = "application/vnd.oci.image."

// write writes the image as an archive of an OCI layout, which podman and docker load.
func (r recipe) write(out string) error {
	writers, err := r.layers()
	if err != nil {
		return err
	}
	var b blobs
	var layers []object
	var ids []string
	for _, write := range writers {
		layer, id, err := b.addLayer(write)
		if err != nil {
			return err
		}
		layers, ids = append(layers, layer), append(ids, id)
	}
	platform := object{"os": "linux", "architecture": r.arch}
	config := object{
		"created": time.Unix(r.created, 0).UTC().Format(time.RFC3339), "config": r.config(),
		"rootfs": object{"type": "layers", "diff_ids": ids},
	}
	for key, value := range platform {
		config[key] = value
	}
	manifest := b.addJSON(media+"manifest.v1+json", object{
		"schemaVersion": 2, "mediaType": media + "manifest.v1+json", "config": b.addJSON(media+"config.v1+json", config), "layers": layers,
	})
	manifest["platform"] = platform
	manifest["annotations"] = object{"org.opencontainers.image.ref.name": r.version, "io.containerd.image.name": "localhost/freshet:" + r.version}
	index, err := json.Marshal(object{"schemaVersion": 2, "mediaType": media + "index.v1+json", "manifests": []object{manifest}})
	if err != nil {
		return err
	}
	to, err := os.Create(out)
	if err != nil {
		return err
	}
	layout := append([]file{{name: "oci-layout", mode: 0o644, text: []byte(`{"imageLayoutVersion":"1.0.0"}`)}, {name: "index.json", mode: 0o644, text: index}}, b.files...)
	return errors.Join(r.archive(to, layout), to.Close())
}

// config returns how the image is run.
func (r recipe) config() object {
	return object{
		"User": fmt.Sprintf("%d:%d", nobody, nobody), "Entrypoint": []string{"/usr/bin/freshet"}, "Cmd": []string{"serve"},
		"Env":          []string{"FRESHET_DATA=/data", "FRESHET_LISTEN=0.0.0.0:8080", "PATH=/usr/bin"},
		"ExposedPorts": object{"8080/tcp": object{}}, "Volumes": object{"/data": object{}},
		"Healthcheck": object{"Test": []string{"CMD", "/usr/bin/freshet", "settings", "--json"}, "Interval": time.Minute, "Timeout": 10 * time.Second, "StartPeriod": time.Minute},
		"Labels":      object{"org.opencontainers.image.title": "freshet", "org.opencontainers.image.version": r.version, "org.opencontainers.image.licenses": "Apache-2.0"},
	}
}
