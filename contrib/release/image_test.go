package release_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"freshet/internal/test/tier"
)

// A container is an image that runc runs, as it does for Docker and Kubernetes.
type container struct {
	*testing.T
	id     string
	health []string // the command of the health check
}

// read reads a JSON file.
func read(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err := errors.Join(err, json.Unmarshal(text, into)); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// health returns the command of the health check of the image in a layout.
func health(t *testing.T, layout string) []string {
	t.Helper()
	type pointer struct{ Digest string }
	blob := func(p pointer, into any) {
		read(t, filepath.Join(layout, "blobs", strings.Replace(p.Digest, ":", "/", 1)), into)
	}
	var index struct{ Manifests []pointer }
	var manifest struct{ Config pointer }
	var image struct {
		Config struct{ Healthcheck struct{ Test []string } }
	}
	read(t, filepath.Join(layout, "index.json"), &index)
	blob(index.Manifests[0], &manifest)
	blob(manifest.Config, &image)
	return image.Config.Healthcheck.Test[1:]
}

// run runs an image until the test ends: on a root that is read-only, without capabilities, in the network of this machine.
func run(t *testing.T, archive, tag string) container {
	t.Helper()
	dir := t.TempDir()
	layout, bundle := filepath.Join(dir, "layout"), filepath.Join(dir, "bundle")
	if err := os.Mkdir(layout, 0o755); err != nil {
		t.Fatal(err)
	}
	must(t, exec.CommandContext(t.Context(), "tar", "-C", layout, "-xf", archive))
	must(t, exec.CommandContext(t.Context(), "umoci", "unpack", "--image", layout+":"+tag, bundle))
	var spec map[string]any
	read(t, filepath.Join(bundle, "config.json"), &spec)
	process := spec["process"].(map[string]any)
	if user := process["user"].(map[string]any); user["uid"] != 65532.0 || user["gid"] != 65532.0 {
		t.Fatalf("the image runs as %v", user)
	}
	process["terminal"], process["noNewPrivileges"], process["capabilities"] = false, true, map[string]any{}
	process["env"] = append(process["env"].([]any), "FRESHET_LISTEN=127.0.0.1:0", "FRESHET_ALLOW_CIDR=127.0.0.0/8")
	spec["root"].(map[string]any)["readonly"] = true
	mount := func(kind, at string, options ...string) map[string]any {
		return map[string]any{"type": kind, "source": kind, "destination": at, "options": options}
	}
	spec["mounts"] = []any{mount("proc", "/proc"), mount("tmpfs", "/dev"), mount("tmpfs", "/tmp", "mode=1777"), mount("tmpfs", "/data", "uid=65532", "gid=65532")}
	spec["linux"] = map[string]any{"namespaces": []any{map[string]any{"type": "mount"}, map[string]any{"type": "pid"}, map[string]any{"type": "ipc"}, map[string]any{"type": "uts"}}}
	text, err := json.Marshal(spec)
	if err := errors.Join(err, os.WriteFile(filepath.Join(bundle, "config.json"), text, 0o600)); err != nil {
		t.Fatal(err)
	}
	c := container{t, fmt.Sprintf("freshet-test-%d-%s", os.Getpid(), tag), health(t, layout)}
	daemon := exec.Command("runc", "run", "--bundle", bundle, c.id)
	said := listen(t, daemon)
	t.Cleanup(func() {
		if out, err := exec.Command("runc", "kill", c.id, "TERM").CombinedOutput(); err != nil {
			t.Errorf("stop the container: %v\n%s", err, out)
			_ = daemon.Process.Signal(syscall.SIGKILL) // it may have ended
		}
		if err := daemon.Wait(); err != nil {
			t.Errorf("the container: %v\n%s", err, said())
		}
	})
	must(t, c.command(c.health...))
	return c
}

// command returns a command in the container.
func (c container) command(args ...string) *exec.Cmd {
	return exec.CommandContext(c.Context(), "runc", append([]string{"exec", c.id}, args...)...)
}

// Both images poll as their user on a root that is read-only, and the one with Chromium renders.
func TestImages(t *testing.T) {
	tier.Long(t, "it builds images")
	if os.Getuid() != 0 {
		t.Skip("only root can run containers")
	}
	for _, tt := range []struct{ target, ending, tag, args string }{
		{"image-" + runtime.GOARCH, ".oci.tar", "0.1.0", ""},
		{"image-chromium", "_chromium.oci.tar", "0.1.0-chromium", " --render"},
	} {
		t.Run(tt.target, func(t *testing.T) {
			shop := newShop(t)
			c := run(t, file(t, release(t, "v0.1.0", tt.target), tt.ending), tt.tag)
			began := time.Now()
			add := strings.Replace(shop.commands(t, "Container")[2], "podman exec freshet", "runc exec "+c.id, 1)
			must(t, exec.CommandContext(t.Context(), "sh", "-c", add+tt.args))
			shop.await(t)
			t.Logf("the alert came after %s", time.Since(began))
			if tt.args == "" {
				return
			}
			if text := must(t, c.command("/usr/bin/freshet", "search", "rendered")); !strings.Contains(text, "[rendered] 42") {
				t.Errorf("the page was not rendered: %s", text)
			}
		})
	}
}
