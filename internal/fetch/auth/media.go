package auth

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/invalid"
)

// Media says which media beside the Web may be watched.
type Media struct {
	Exec  bool     // commands may be run, for sources of the configuration file
	Files []string // directories whose files may be read
}

// Check judges a URL of any medium and returns it in its normal form, or a
// *invalid.Error. Web judges those of the Web.
func (p Media) Check(raw string, web func(string) (string, error)) (string, error) {
	_, rest, _ := strings.Cut(raw, ":")
	switch freshet.MediumOf(raw) {
	case freshet.InExec:
		command := strings.TrimSpace(rest)
		switch {
		case command == "":
			return "", refuse("exec: must be followed by a command", "")
		case !p.Exec:
			return "", refuse("commands cannot be watched unless the settings allow it", "set allow_exec: true in the configuration file")
		}
		return "exec:" + command, nil
	case freshet.InFile:
		path, err := p.path(raw)
		if err != nil {
			return "", err
		}
		return "file://" + path, nil
	case freshet.InDNS:
		return checkRecords(rest, web)
	case freshet.InTLS:
		return checkServer(rest, web)
	}
	return web(raw)
}

func refuse(reason, hint string) error {
	err := &invalid.Error{Field: "url", Reason: reason}
	if hint == "" {
		return err
	}
	return freshet.WithHint(err, hint)
}

// path returns the path of a file URL, if it lies in one of the directories.
func (p Media) path(raw string) (string, error) {
	rest := strings.TrimPrefix(raw[len("file:"):], "//")
	if !strings.HasPrefix(rest, "/") || strings.ContainsAny(rest, "\x00") {
		return "", refuse("a file must be named by its full path, such as file:///srv/list.txt", "")
	}
	path := filepath.Clean(rest)
	if _, _, ok := p.root(path); !ok {
		return "", refuse(fmt.Sprintf("%s is not in a directory that may be read", path), "allow its directory with allow_files: ["+filepath.Dir(path)+"]")
	}
	return path, nil
}

// root returns the directory that a path lies in, and the path below it.
func (p Media) root(path string) (dir, below string, ok bool) {
	for _, dir := range p.Files {
		if below, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(below) && below != "." {
			return dir, below, true
		}
	}
	return "", "", false
}

// checkRecords judges NAME?type=TYPE.
func checkRecords(rest string, web func(string) (string, error)) (string, error) {
	name, query, _ := strings.Cut(rest, "?")
	normal, err := web("https://" + name + "/")
	if err != nil {
		return "", err
	}
	values, err := url.ParseQuery(query)
	kind := strings.ToUpper(values.Get("type"))
	if kind == "" {
		kind = "A"
	}
	if err != nil || len(values) > 1 || len(values) == 1 && !values.Has("type") || !slices.Contains(fetch.RecordTypes, kind) {
		return "", refuse(fmt.Sprintf("write it as dns:NAME?type=TYPE, with a type of %s", strings.Join(fetch.RecordTypes, ", ")), "")
	}
	host := freshet.HostOf(normal)
	if strings.ContainsAny(host, ":[") {
		return "", refuse("dns: must be followed by a name, not by an address or a port", "")
	}
	return "dns:" + host + "?type=" + kind, nil
}

// checkServer judges HOST:PORT.
func checkServer(rest string, web func(string) (string, error)) (string, error) {
	normal, err := web("https://" + rest + "/")
	if err != nil {
		return "", err
	}
	host := freshet.HostOf(normal)
	if normal != "https://"+host+"/" {
		return "", refuse("write it as tls:HOST:PORT, such as tls:example.com:443", "")
	}
	if u, err := url.Parse(normal); err == nil && u.Port() == "" {
		host += ":443"
	}
	return "tls:" + host, nil
}

// errForeignCommand keeps the API from running commands.
var errForeignCommand = errors.New("only sources in the configuration file can run commands")
