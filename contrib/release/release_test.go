package release_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
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

// release makes a target of a release of one platform, and returns the directory of what was made.
func release(t *testing.T, version, target string) string {
	t.Helper()
	out := t.TempDir()
	must(t, exec.CommandContext(t.Context(), "make", "-C", "../..", target, "VERSION="+version, "PLATFORMS=linux/"+runtime.GOARCH,
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
	m := machine{t, filepath.Join(dir, "root"), []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive",
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
	must(m.T, m.command("root", "apt-get", "install", "-y", "/freshet.deb"))
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
	shop, listen := newShop(t), freePort(t)
	m.env = append(m.env, "FRESHET_LISTEN="+listen)
	add := strings.Replace(strings.Join(shop.commands(t, "Debian and Ubuntu")[1:], "\n"), "127.0.0.1:8080", listen, 1)
	m.install(file(t, release(t, "v0.1.0", "packages-"+runtime.GOARCH), ".deb"))
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
	must(t, m.command("nobody:nogroup", "sh", "-ec", add))
	shop.await(t)
	d.await(m, "WATCHDOG=1")
	d.stop(m)

	settings := filepath.Join(m.root, "etc/freshet/freshet.yaml")
	if err := os.WriteFile(settings, []byte("budget: 7/m\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	m.install(file(t, release(t, "v0.1.1", "packages-"+runtime.GOARCH), ".deb"))
	if out := must(t, m.command("root", "freshet", "version")); !strings.Contains(out, "v0.1.1") {
		t.Errorf("after the upgrade the version is %s", out)
	}
	d = m.start("freshet:freshet", run...)
	if out := must(t, m.command("freshet:freshet", "/usr/bin/freshet", "changes")); !strings.Contains(out, "price") {
		t.Errorf("after the upgrade the changes are %q", out)
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

// The RPM is installed and removed, with its user and its unit.
func TestRPM(t *testing.T) {
	tier.Long(t, "it builds a package")
	if _, err := exec.LookPath("rpm"); err != nil {
		t.Skip("there is no rpm: apt-get install rpm")
	}
	m := newDebian(t)
	text, err := os.ReadFile(file(t, release(t, "v0.1.0", "packages-"+runtime.GOARCH), ".rpm"))
	if err := errors.Join(err, os.WriteFile(filepath.Join(m.root, "freshet.rpm"), text, 0o644)); err != nil {
		t.Fatal(err)
	}
	must(t, m.command("root", "rpm", "--install", "--nodeps", "--nosignature", "/freshet.rpm"))
	must(t, m.command("root", "rpm", "--verify", "--nogroup", "freshet")) // the settings belong to the group of the service
	must(t, m.command("freshet:freshet", "freshet", "version"))
	must(t, m.command("root", "rpm", "--erase", "freshet"))
	if m.has("/usr/bin/freshet") || !m.has("/var/lib/freshet") {
		t.Error("removing the package did not leave the data, and nothing else")
	}
}

// The same commit makes the same bytes, in other directories and at another time.
func TestReproducible(t *testing.T) {
	tier.Long(t, "it builds a release twice")
	sums := func() string {
		text, err := os.ReadFile(filepath.Join(release(t, "v0.1.0", "release"), "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if first, second := sums(), sums(); first != second || strings.Count(first, "\n") < 6 {
		t.Errorf("first:\n%ssecond:\n%s", first, second)
	}
}
