package auth

import (
	"maps"
	"slices"

	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/invalid"
	"freshet/internal/suggest"
)

// Profiles are those of a configuration file, by name.
type Profiles map[string]profile.Profile

// Of returns what the profile of a source comes to with the one that it uses.
func (ps Profiles) Of(s *freshet.Source) (profile.Profile, error) {
	if s == nil || s.Request == nil {
		return profile.Profile{}, nil
	}
	p := *s.Request
	if p.Use == "" {
		return p, nil
	}
	base, ok := ps[p.Use]
	if !ok {
		known := slices.Sorted(maps.Keys(ps))
		return p, invalid.Errorf("request.use", "there is no profile %q under requests: in the configuration file%s", p.Use, suggest.DidYouMean(p.Use, known))
	}
	if host := freshet.HostOf(s.URL); len(base.Hosts) > 0 && !slices.Contains(base.Hosts, host) {
		return p, invalid.Errorf("request.use", "the profile %s is not for %s; its hosts are %v", p.Use, host, base.Hosts)
	}
	all, err := p.Over(base).Check("request")
	if err == nil && s.Recipe.Render.On && all.Proxy != "" {
		err = invalid.Errorf("render", "cannot be used together with the proxy of the profile %s: the parts of the page would not go through it", p.Use)
	}
	return all, err
}

// CheckForeign judges a source that comes over the API by the secrets that it would
// have sent. A user of the API must not be able to have files and variables of
// this machine sent to a host of their choice, nor secrets that are not meant for it.
func (ps Profiles) CheckForeign(s freshet.Source) error {
	if freshet.MediumOf(s.URL) == freshet.InExec {
		return refuse(errForeignCommand.Error(), "")
	}
	if s.Request == nil {
		return nil
	}
	if _, err := ps.Of(&s); err != nil {
		return err
	}
	if field := s.Request.Local(); field != "" {
		return freshet.WithHint(invalid.Errorf("request."+field, "only sources in the configuration file can use files and environment variables"),
			"keep the secret with freshet settings secret set NAME --host HOST and refer to it as ${secret:NAME}, or put the source into the file")
	}
	if base := ps[s.Request.Use]; base.Secret() != "" && len(base.Hosts) == 0 {
		return freshet.WithHint(invalid.Errorf("request.use", "the profile %s has secrets but names no hosts, so only sources in the configuration file can use it", s.Request.Use),
			"add hosts: ["+freshet.HostOf(s.URL)+"] to the profile")
	}
	return nil
}
