package config

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"freshet/internal/fetch/auth"
	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/invalid"
)

// requests reads the profiles that sources build on.
func (d *document) requests(n ast.Node, path string, s *Settings) {
	var pairs []*ast.MappingValueNode
	switch m := d.resolve(n).(type) {
	case *ast.MappingNode:
		pairs = m.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{m}
	case *ast.NullNode:
		return
	default:
		d.report(m, path, "expected profiles by their names, but found %s", kindOf(m))
		return
	}
	s.Requests = auth.Profiles{}
	for _, pair := range pairs {
		name := pair.Key.GetToken().Value
		inside := path + "." + name
		_, twice := s.Requests[name]
		switch {
		case !profile.ValidSecretName(name):
			d.report(pair.Key, path, "%q cannot name a profile; use up to 64 letters, digits, '.', '_' and '-'", name)
		case twice:
			d.report(pair.Key, path, "the profile %q is there twice", name)
		default:
			s.Requests[name] = d.profile(pair.Value, inside)
			s.place(inside, pair.Key.GetToken().Position.Line)
		}
	}
}

// profile reads one profile.
func (d *document) profile(n ast.Node, path string) profile.Profile {
	l := listedSource{node: n, at: map[string]ast.Node{}}
	text, ok := d.value(n, path, func(n ast.Node, inside string) { l.at[inside] = n })
	if !ok {
		return profile.Profile{}
	}
	p, err := profile.Parse(text)
	if err != nil {
		d.report(d.resolve(n), path, "%v", invalid.ReasonOf(err))
		return p
	}
	if p.Use != "" {
		d.report(d.resolve(n), path+".use", "a profile cannot use another")
		return p
	}
	for i, host := range p.Hosts {
		p.Hosts[i] = strings.ToLower(host)
	}
	checked, err := p.Check(path)
	if err != nil {
		d.blame(l, path, err)
	}
	return checked
}

// checkRequest judges how a source of the file is asked for, with the profile that it
// uses.
func (s *Settings) checkRequest(src freshet.Source) error {
	p, err := s.Requests.Of(&src)
	if err != nil || p.Proxy == "" {
		return err
	}
	return s.checkProxy(p.Proxy)
}

// checkProxy judges a proxy as far as it is known before its secrets are.
func (s *Settings) checkProxy(v profile.Value) error {
	plain, err := v.Expand(func(profile.Reference) (string, error) { return "x", nil })
	if err != nil || plain == "x" {
		return err
	}
	u, err := url.Parse(plain)
	if err != nil {
		return err
	}
	if err := s.Fetch.CheckProxy(u); err != nil {
		return freshet.WithHint(&invalid.Error{Field: "request.proxy", Reason: err.Error()}, freshet.HintOf(err))
	}
	return nil
}

// CheckForeign judges how a source that comes over the API is asked for.
func (s *Settings) CheckForeign(src freshet.Source) error {
	if err := s.Requests.CheckForeign(src); err != nil {
		return err
	}
	return s.checkRequest(src)
}

func setProxies(s *Settings, v string) error {
	var proxies []string
	for _, item := range SplitList(v) {
		host, port, err := net.SplitHostPort(item)
		if err != nil || host == "" || port == "" {
			return fmt.Errorf("%q is not a proxy with its port, such as 127.0.0.1:1080", item)
		}
		proxies = append(proxies, net.JoinHostPort(strings.ToLower(host), port))
	}
	s.Fetch.Proxies = slices.Compact(proxies)
	return nil
}

func setRobots(s *Settings, v string) error {
	var text string
	if err := oneOf(func(*Settings) *string { return &text }, string(freshet.RobotsObey), string(freshet.RobotsIgnore))(s, v); err != nil {
		return err
	}
	s.Limits.Hosts.Obey = text == string(freshet.RobotsObey)
	return nil
}

func showRobots(obey bool) string {
	if obey {
		return string(freshet.RobotsObey)
	}
	return string(freshet.RobotsIgnore)
}

func setExec(s *Settings, v string) error {
	on, err := strconv.ParseBool(v)
	if err != nil {
		return fmt.Errorf("%q is not true or false", v)
	}
	s.Media.Exec = on
	return nil
}

func setFiles(s *Settings, v string) error {
	var dirs []string
	for _, dir := range SplitList(v) {
		if !filepath.IsAbs(dir) || filepath.Clean(dir) == "/" {
			return fmt.Errorf("%q is not a directory below / with its full path", dir)
		}
		dirs = append(dirs, filepath.Clean(dir))
	}
	s.Media.Files = dirs
	return nil
}

func setWebSub(s *Settings, v string) error {
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.RawQuery != "" || u.User != nil {
		return fmt.Errorf("%q is not a URL such as https://freshet.example", v)
	}
	s.API.WebSubURL = strings.TrimSuffix(v, "/")
	return nil
}
