package api

import (
	"slices"
	"strings"

	"freshet/internal/api/rest"
	"freshet/internal/auth/access"
	"freshet/ui"
)

// ruleOf returns the rule of a route.
func ruleOf(pattern string) rest.Rule {
	if r, ok := rules[pattern]; ok {
		return r
	}
	if path, ok := strings.CutPrefix(pattern, "GET "); ok && slices.Contains(ui.Screens, path) {
		return anybody // the shell of a page says nothing but who the caller is
	}
	return admin
}

// The rules that many routes have.
var (
	anybody    = rest.Rule{}
	probe      = rest.Rule{Probe: true}
	reader     = rest.Rule{Need: access.Read}
	writer     = rest.Rule{Need: access.Write}
	trial      = rest.Rule{Need: access.Write, Quiet: true}
	admin      = rest.Rule{Need: access.Administer}
	ofList     = rest.Rule{Need: access.Read, Tag: rest.TagParam}
	ofSourceID = rest.Rule{Need: access.Read, Share: rest.SourceShare, Tag: rest.TagPath}
	editSource = rest.Rule{Need: access.Write, Tag: rest.TagPath}
	ofQueryID  = rest.Rule{Need: access.Read, Share: rest.QueryShare}
)

// redone returns a rule of requests that are done again if they were cut off.
func redone(r rest.Rule) rest.Rule {
	r.Again = true
	return r
}

// rules are those of all routes. One that is not here is open to admins alone, and a test
// fails.
var rules = map[string]rest.Rule{
	"GET /healthz":               probe,
	"GET /readyz":                probe,
	"GET /metrics":               reader,
	"GET /openapi.json":          anybody,
	"GET /openapi.yaml":          anybody,
	"GET /openapi-3.0.json":      anybody,
	"GET /openapi-3.0.yaml":      anybody,
	"GET /assets/{name}":         anybody,
	"POST /api/v1/hooks/{token}": {Quiet: true, Again: true}, // who knows the token may
	"GET /api/v1/websub/{token}": anybody,                    // likewise
	"POST /api/v1/websub/{token}": {
		Quiet: true,
	},

	"GET /login/oidc":          anybody, // on the way to the provider
	"GET /login/oidc/callback": anybody, // and back

	"GET /api/v1/session":          anybody,
	"POST /api/v1/session":         {Quiet: true, Secret: true}, // the handler notes who it was
	"DELETE /api/v1/session":       {Quiet: true, Secret: true},
	"PUT /api/v1/session/password": {Self: true, Quiet: true, Secret: true},

	"GET /api/v1/users":           admin,
	"POST /api/v1/users":          {Need: access.Administer, Secret: true},
	"GET /api/v1/users/{name}":    admin,
	"PATCH /api/v1/users/{name}":  {Need: access.Administer, Secret: true},
	"DELETE /api/v1/users/{name}": admin,
	"GET /api/v1/tokens":          {Self: true},
	"POST /api/v1/tokens":         {Self: true, Secret: true},
	"DELETE /api/v1/tokens/{id}":  {Self: true},
	"GET /api/v1/shares":          writer,
	"POST /api/v1/shares":         {Need: access.Write, Secret: true},
	"DELETE /api/v1/shares/{id}":  writer,
	"GET /api/v1/audit":           admin,

	"GET /api/v1/sources":                                   ofList,
	"POST /api/v1/sources":                                  writer,
	"GET /api/v1/sources/facets":                            reader,
	"POST /api/v1/import":                                   redone(writer),
	"POST /api/v1/sources/batch":                            redone(writer),
	"POST /api/v1/sources/bulk":                             redone(writer),
	"POST /api/v1/sources/bulk/{edit}/undo":                 redone(writer),
	"GET /api/v1/sources/{id}":                              ofSourceID,
	"PATCH /api/v1/sources/{id}":                            editSource,
	"DELETE /api/v1/sources/{id}":                           editSource,
	"POST /api/v1/sources/{id}/poll":                        redone(editSource),
	"POST /api/v1/sources/{id}/confirm":                     editSource,
	"POST /api/v1/sources/{id}/hook":                        {Need: access.Write, Tag: rest.TagPath, Secret: true},
	"DELETE /api/v1/sources/{id}/hook":                      editSource,
	"POST /api/v1/sources/{id}/taught":                      redone(editSource),
	"GET /api/v1/sources/{id}/taught":                       ofSourceID,
	"POST /api/v1/sources/{id}/test":                        redone(trial),
	"GET /api/v1/sources/{id}/chances":                      ofSourceID,
	"PUT /api/v1/sources/{id}/chances":                      editSource,
	"DELETE /api/v1/sources/{id}/chances":                   editSource,
	"GET /api/v1/sources/{id}/suggestions":                  ofSourceID,
	"GET /api/v1/sources/{id}/diff":                         ofSourceID,
	"GET /api/v1/sources/{id}/fields/{name}":                ofSourceID,
	"GET /api/v1/sources/{id}/outcomes":                     ofSourceID,
	"GET /api/v1/sources/{id}/rhythm":                       ofSourceID,
	"GET /api/v1/sources/{id}/why":                          ofSourceID,
	"GET /api/v1/sources/{id}/feed.atom":                    ofSourceID,
	"GET /api/v1/sources/{id}/feed.json":                    ofSourceID,
	"GET /api/v1/sources/{id}/versions/{number}/outline":    ofSourceID,
	"GET /api/v1/sources/{id}/versions":                     ofSourceID,
	"GET /api/v1/sources/{id}/versions/{number}":            ofSourceID,
	"GET /api/v1/sources/{id}/versions/{number}/text":       ofSourceID,
	"GET /api/v1/sources/{id}/versions/{number}/raw":        ofSourceID,
	"GET /api/v1/sources/{id}/versions/{number}/rendered":   ofSourceID,
	"GET /api/v1/sources/{id}/versions/{number}/screenshot": ofSourceID,

	"GET /api/v1/sites":            reader,
	"GET /api/v1/sites/{id}":       ofSourceID,
	"GET /api/v1/sites/{id}/pages": ofSourceID,

	"GET /api/v1/changes":        ofList,
	"GET /api/v1/changes/newest": ofList,
	"GET /api/v1/changes/stream": ofList,
	"GET /api/v1/feed.atom":      ofList,
	"GET /api/v1/feed.json":      ofList,
	"GET /api/v1/search":         ofList,
	"GET /api/v1/outcomes":       reader,
	"GET /api/v1/polls":          ofList,
	"POST /api/v1/polls":         redone(writer),

	"GET /api/v1/queries":                     reader,
	"POST /api/v1/queries":                    writer,
	"POST /api/v1/queries/test":               {Need: access.Read, Quiet: true, Again: true},
	"GET /api/v1/queries/{id}":                ofQueryID,
	"PATCH /api/v1/queries/{id}":              writer,
	"DELETE /api/v1/queries/{id}":             writer,
	"GET /api/v1/queries/{id}/matches":        ofQueryID,
	"GET /api/v1/queries/{id}/matches/stream": ofQueryID,
	"GET /api/v1/queries/{id}/feed.atom":      ofQueryID,
	"GET /api/v1/queries/{id}/feed.json":      ofQueryID,

	"GET /api/v1/sinks":                 reader,
	"GET /api/v1/sinks/{name}":          reader,
	"PUT /api/v1/sinks/{name}":          writer,
	"PATCH /api/v1/sinks/{name}":        writer,
	"DELETE /api/v1/sinks/{name}":       writer,
	"POST /api/v1/sinks/{name}/test":    redone(writer),
	"POST /api/v1/sinks-preview":        redone(trial),
	"GET /api/v1/sinks-kinds":           reader,
	"GET /api/v1/sinks/{name}/owed":     reader,
	"GET /api/v1/sinks/{name}/attempts": reader,
	"GET /api/v1/sinks/{name}/letters":  reader,
	"POST /api/v1/sinks/{name}/replay":  redone(writer),

	"GET /api/v1/lab":                reader,
	"GET /api/v1/lab/reports/{name}": reader,
	"GET /api/v1/lab/runs":           reader,
	"POST /api/v1/lab/runs":          redone(writer),
	"GET /api/v1/lab/runs/{id}":      reader,
	"DELETE /api/v1/lab/runs/{id}":   writer,

	"GET /api/v1/budget":                      reader,
	"GET /api/v1/numbers":                     ofList,
	"GET /api/v1/numbers/days":                reader,
	"GET /api/v1/overview":                    reader,
	"GET /api/v1/flow":                        reader,
	"GET /api/v1/status":                      reader,
	"GET /api/v1/cluster":                     reader,
	"POST /api/v1/cluster/hands/{name}/drain": redone(admin),
	"GET /api/v1/browser":                     reader,
	"POST /api/v1/reload":                     redone(admin),
	"GET /api/v1/settings":                    reader,
	"PATCH /api/v1/settings":                  redone(admin),
}
