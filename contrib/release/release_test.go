package release_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"freshet/internal/test/tier"
)

// slowest is how long anything may take, on a machine that is very slow.
const slowest = 10 * time.Minute

// release makes a release of one platform and returns its directory.
func release(t *testing.T, version string) string {
	t.Helper()
	out := t.TempDir()
	must(t, exec.CommandContext(t.Context(), "make", "-C", "../..", "release", "VERSION="+version, "PLATFORMS=linux/"+runtime.GOARCH,
		"OUT="+filepath.Join(out, "out"), "WORK="+filepath.Join(out, "work")))
	return filepath.Join(out, "out")
}

// must runs a command and returns what it prints.
func must(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, text)
	}
	return string(text)
}

// file returns the file of a release with an ending.
func file(t *testing.T, dir, ending string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "freshet_*"+ending))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s has %q that end with %s, %v", dir, found, ending, err)
	}
	return found[0]
}

// machine is a root directory in which programs run as on a machine of its own.
type machine struct {
	*testing.T
	root string
	env  []string
}

// mount mounts below the root until the end of the test.
func (m machine) mount(source, at, kind string, flags uintptr, options string) {
	m.Helper()
	target := filepath.Join(m.root, at)
	if err := errors.Join(os.MkdirAll(target, 0o755), syscall.Mount(source, target, kind, flags, options)); err != nil {
		m.Fatalf("mount %s: %v", target, err)
	}
	m.Cleanup(func() {
		if err := syscall.Unmount(target, syscall.MNT_DETACH); err != nil {
			m.Errorf("unmount %s: %v", target, err)
		}
	})
}

// newDebian returns this machine as it is, in which changes stay apart.
func newDebian(t *testing.T) machine {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can install packages")
	}
	dir := t.TempDir()
	m := machine{t, filepath.Join(dir, "root"), []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "FRESHET_LISTEN=127.0.0.1:0",
		"FRESHET_ALLOW_CIDR=127.0.0.0/8", "FRESHET_DATA=/var/lib/freshet", "FRESHET_CONFIG=/etc/freshet/freshet.yaml"}}
	for _, part := range []string{"upper", "work"} {
		if err := os.Mkdir(filepath.Join(dir, part), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m.mount("overlay", "/", "overlay", 0, "lowerdir=/,upperdir="+filepath.Join(dir, "upper")+",workdir="+filepath.Join(dir, "work"))
	m.mount("/dev", "/dev", "", syscall.MS_BIND, "")
	m.mount("/proc", "/proc", "", syscall.MS_BIND, "")
	return m
}

// command returns a command of the machine, as a user of it.
func (m machine) command(user string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(m.Context(), "chroot", append([]string{"--userspec=" + user, m.root}, args...)...)
	cmd.Env = slices.Clone(m.env)
	return cmd
}

func (m machine) has(path string) bool {
	_, err := os.Lstat(filepath.Join(m.root, path))
	return err == nil
}

// install copies a package into the machine and installs it.
func (m machine) install(deb string) {
	m.Helper()
	text, err := os.ReadFile(deb)
	if err := errors.Join(err, os.WriteFile(filepath.Join(m.root, "freshet.deb"), text, 0o644)); err != nil {
		m.Fatal(err)
	}
	must(m.T, m.command("root", "dpkg", "-i", "/freshet.deb"))
}

// A service is a daemon as systemd runs it.
type service struct {
	*exec.Cmd
	told   *net.UnixConn
	output *bytes.Buffer
	ended  chan error
}

// ended is said for a daemon that has ended.
const ended = "the process has ended"

// start starts a daemon and waits until it is ready.
func (m machine) start(user string, args ...string) *service {
	m.Helper()
	name := fmt.Sprintf("@freshet-%d-%d", os.Getpid(), time.Now().UnixNano())
	told, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		m.Fatal(err)
	}
	m.Cleanup(func() { told.Close() })
	s := &service{m.command(user, args...), told, &bytes.Buffer{}, make(chan error, 1)}
	s.Stdout, s.Stderr = s.output, s.output
	s.Env = append(s.Env, "NOTIFY_SOCKET="+name, "WATCHDOG_USEC=3000000")
	if err := s.Start(); err != nil {
		m.Fatal(err)
	}
	m.Cleanup(func() { _ = s.Process.Kill() }) // it may have ended
	go func() {
		s.ended <- s.Wait()
		if c, err := net.Dial("unixgram", name); err == nil { // after all that it has said
			defer c.Close()
			_, _ = c.Write([]byte(ended))
		}
	}()
	s.await(m, "READY=1")
	return s
}

// await waits until the daemon tells systemd something.
func (s *service) await(m machine, want string) {
	m.Helper()
	if err := s.told.SetReadDeadline(time.Now().Add(slowest)); err != nil {
		m.Fatal(err)
	}
	message := make([]byte, 4096)
	for {
		n, err := s.told.Read(message)
		if err != nil || string(message[:n]) == ended {
			m.Fatalf("the daemon never said %s: %v\n%s", want, err, s.output)
		}
		if strings.Contains(string(message[:n]), want) {
			return
		}
	}
}

// stop ends the daemon as systemd does.
func (s *service) stop(m machine) {
	m.Helper()
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		m.Fatal(err)
	}
	s.await(m, "STOPPING=1")
	if err := <-s.ended; err != nil {
		m.Fatalf("%v\n%s", err, s.output)
	}
}

// The package is installed, polled with, upgraded with its data and settings in place, removed
// and purged. The daemon tells systemd that it is ready, that it is alive and that it stops.
func TestPackageOnDebian(t *testing.T) {
	tier.Long(t, "it builds, installs and upgrades packages")
	m := newDebian(t)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<p>hello") }))
	t.Cleanup(web.Close)
	m.install(file(t, release(t, "v0.1.0"), ".deb"))
	must(t, exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", "--root="+m.root, "freshet.service"))
	unit, err := os.ReadFile(filepath.Join(m.root, "usr/lib/systemd/system/freshet.service"))
	if err != nil {
		t.Fatal(err)
	}
	run := strings.Fields(string(regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindSubmatch(unit)[1]))
	files := must(t, m.command("root", "dpkg", "-L", "freshet"))
	for _, want := range []string{"/usr/bin/freshet", "/usr/share/man/man1/freshet-add.1.gz", "/usr/share/bash-completion/completions/freshet", "/usr/share/doc/freshet/notices", "/etc/freshet/freshet.yaml"} {
		if !strings.Contains(files, want+"\n") {
			t.Errorf("the package lacks %s", want)
		}
	}

	d := m.start("freshet:freshet", run...)
	must(t, m.command("freshet:freshet", "/usr/bin/freshet", "add", web.URL, "--id", "page", "--poll"))
	d.await(m, "WATCHDOG=1")
	d.stop(m)

	settings := filepath.Join(m.root, "etc/freshet/freshet.yaml")
	if err := os.WriteFile(settings, []byte("budget: 7/m\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	m.install(file(t, release(t, "v0.1.1"), ".deb"))
	if out := must(t, m.command("root", "freshet", "version")); !strings.Contains(out, "v0.1.1") {
		t.Errorf("after the upgrade the version is %s", out)
	}
	d = m.start("freshet:freshet", run...)
	if out := must(t, m.command("freshet:freshet", "/usr/bin/freshet", "history", "page")); !strings.Contains(out, "1") {
		t.Errorf("after the upgrade the history is %q", out)
	}
	if out := must(t, m.command("freshet:freshet", "/usr/bin/freshet", "settings")); !strings.Contains(out, "7/m") {
		t.Errorf("after the upgrade the settings are %s", out)
	}
	d.stop(m)

	must(t, m.command("root", "dpkg", "-r", "freshet"))
	if m.has("/usr/bin/freshet") || !m.has("/var/lib/freshet/freshet.db") || !m.has("/etc/freshet/freshet.yaml") {
		t.Error("removing the package did not leave data and settings, and nothing else")
	}
	must(t, m.command("root", "dpkg", "-P", "freshet"))
	users, err := os.ReadFile(filepath.Join(m.root, "etc/passwd"))
	if err != nil || m.has("/var/lib/freshet") || m.has("/etc/freshet") || strings.Contains(string(users), "freshet") {
		t.Errorf("purging the package left something: %v\n%s", err, users)
	}
}

// The image runs on a root that is read-only, as its user, and its health check passes.
func TestImage(t *testing.T) {
	tier.Long(t, "it builds an image")
	if os.Getuid() != 0 {
		t.Skip("only root can change the root directory")
	}
	m := machine{T: t, root: t.TempDir()}
	config := unpack(t, file(t, release(t, "v0.1.0"), ".oci.tar"), m.root)
	if err := os.Mkdir(filepath.Join(m.root, "proc"), 0o755); err != nil {
		t.Fatal(err)
	}
	m.mount(m.root, "/", "", syscall.MS_BIND, "")
	if err := syscall.Mount("", m.root, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	m.mount("/proc", "/proc", "", syscall.MS_BIND, "")
	m.mount("none", "/data", "tmpfs", 0, "mode=0700,uid=65532,gid=65532")
	if config.User != "65532:65532" {
		t.Fatalf("the image runs as %s", config.User)
	}
	m.env = append(config.Env, "FRESHET_LISTEN=127.0.0.1:0")
	d := m.start(config.User, append(config.Entrypoint, config.Cmd...)...)
	must(t, m.command(config.User, config.Healthcheck.Test[1:]...))
	d.stop(m)
}

// An imageConfig is how an image is run.
type imageConfig struct {
	User            string
	Entrypoint, Cmd []string
	Env             []string
	Healthcheck     struct{ Test []string }
}

// unpack writes the files of an image and returns how it is run.
func unpack(t *testing.T, archive, root string) imageConfig {
	t.Helper()
	blobs := map[string][]byte{}
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	each(t, f, func(h *tar.Header, text []byte) { blobs[h.Name] = text })
	type pointer struct{ Digest string }
	blob := func(p pointer) []byte { return blobs["blobs/"+strings.Replace(p.Digest, ":", "/", 1)] }
	var index struct{ Manifests []pointer }
	var manifest struct {
		Config pointer
		Layers []pointer
	}
	var config struct{ Config imageConfig }
	if err := errors.Join(json.Unmarshal(blobs["index.json"], &index), json.Unmarshal(blob(index.Manifests[0]), &manifest)); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(blob(manifest.Config), &config); err != nil {
		t.Fatal(err)
	}
	for _, layer := range manifest.Layers {
		zipped, err := gzip.NewReader(bytes.NewReader(blob(layer)))
		if err != nil {
			t.Fatal(err)
		}
		each(t, zipped, func(h *tar.Header, text []byte) {
			to := filepath.Join(root, h.Name)
			if h.Typeflag == tar.TypeDir {
				err = os.MkdirAll(to, 0o755)
			} else {
				err = os.WriteFile(to, text, os.FileMode(h.Mode))
			}
			if err := errors.Join(err, os.Chown(to, h.Uid, h.Gid)); err != nil {
				t.Fatal(err)
			}
		})
	}
	return config.Config
}

// each reads an archive.
func each(t *testing.T, from io.Reader, do func(*tar.Header, []byte)) {
	t.Helper()
	for r := tar.NewReader(from); ; {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		text, err := io.ReadAll(r)
		if h == nil || err != nil {
			t.Fatal(err)
		}
		do(h, text)
	}
}

// The same commit makes the same bytes, in other directories and at another time.
func TestReproducible(t *testing.T) {
	tier.Long(t, "it builds a release twice")
	sums := func() string {
		text, err := os.ReadFile(filepath.Join(release(t, "v0.1.0"), "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if first, second := sums(), sums(); first != second || strings.Count(first, "\n") < 5 {
		t.Errorf("first:\n%ssecond:\n%s", first, second)
	}
}
