package main

import (
	"cmp"
	_ "embed"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"unicode"
)

// notices are the licences of what is linked into the program. TestNotices holds them to go.mod.
//
//go:embed notices.txt
var notices string

// A billOfMaterials lists what is linked into the program, as SPDX 2.3.
type billOfMaterials struct {
	Version       string         `json:"spdxVersion"`
	DataLicense   string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Creation      bomCreation    `json:"creationInfo"`
	Packages      []bomPackage   `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type bomCreation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

// A bomPackage is a module, or the program itself.
type bomPackage struct {
	ID            string        `json:"SPDXID"`
	Name          string        `json:"name"`
	Version       string        `json:"versionInfo"`
	Location      string        `json:"downloadLocation"`
	FilesAnalyzed bool          `json:"filesAnalyzed"`
	SourceInfo    string        `json:"sourceInfo,omitempty"`
	Refs          []externalRef `json:"externalRefs"`
}

type externalRef struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	Of   string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

// billOf returns the bill of materials of a build, as the linker wrote it into the binary. The same build has the
// same bill: its time is that of the commit.
func billOf(b build, info *debug.BuildInfo) billOfMaterials {
	program := packageOf("freshet", b.Version, "")
	all := []bomPackage{packageOf("std", strings.TrimPrefix(b.Go, "go"), "")}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		all = append(all, packageOf(m.Path, m.Version, m.Sum))
	}
	slices.SortFunc(all, func(a, b bomPackage) int { return strings.Compare(a.Name, b.Name) })
	const document = "SPDXRef-DOCUMENT"
	bill := billOfMaterials{Version: "SPDX-2.3", DataLicense: "CC0-1.0", ID: document, Name: "freshet-" + b.Version,
		Namespace: "https://spdx.org/spdxdocs/freshet-" + url.PathEscape(b.Version) + "-" + cmp.Or(b.Revision, "unknown"),
		Creation:  bomCreation{cmp.Or(b.Time, "1970-01-01T00:00:00Z"), []string{"Tool: freshet-" + b.Version}},
		Packages:  append([]bomPackage{program}, all...), Relationships: []relationship{{document, "DESCRIBES", program.ID}}}
	for _, p := range all {
		bill.Relationships = append(bill.Relationships, relationship{program.ID, "CONTAINS", p.ID})
	}
	return bill
}

func packageOf(name, version, sum string) bomPackage {
	id := strings.Map(func(r rune) rune {
		if r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)) || r == '.' {
			return r
		}
		return '-'
	}, name)
	p := bomPackage{ID: "SPDXRef-" + id, Name: name, Version: version, Location: "NOASSERTION",
		Refs: []externalRef{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + name + "@" + url.PathEscape(version)}}}
	if sum != "" {
		p.SourceInfo = "go.sum " + sum
	}
	return p
}
