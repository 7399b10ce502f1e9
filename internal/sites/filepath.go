package sites

import (
	"crypto/sha256"
	"encoding/hex"
	"math/big"
	"strings"
)

// What file systems bear everywhere.
const (
	longestName = 120 // bytes of one name
	longestFile = 200 // bytes of a path; Windows has 260 in all
)

// keptTypes are endings by which programs know what a file is. A page without one of
// them gets .html.
var keptTypes = endings("html htm xhtml css js mjs json xml txt csv md pdf svg png jpg jpeg gif webp avif ico bmp woff woff2 ttf otf eot mp3 mp4 webm ogg wav rss atom map wasm")

// reserved are names that Windows keeps for devices, whatever follows after a dot.
var reserved = endings("con prn aux nul com0 com1 com2 com3 com4 com5 com6 com7 com8 com9 lpt0 lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9")

// FilePath returns the path of the file in which a mirror keeps a URL, with slashes. No
// two URLs have the same, not even where upper and lower case are one. It is relative,
// leads nowhere out of the mirror, and is allowed on Linux, macOS and Windows.
//
// https://example.com/ is example.com/index.html, /a is a=.html and /a/b?c=1 is
// a/b=qc=3d1=.html: an equals sign begins what a URL does not say by itself.
// What is no normalised URL, and what is too long, is named by a hash.
func FilePath(url string) string {
	normal, err := Normalise("", url)
	if err != nil || normal != url {
		return "=other/" + sum(url) + ".html"
	}
	origin, path, query := split(url)
	scheme, host, _ := strings.Cut(origin, "://")
	host = encode(host)
	if scheme == "http" {
		host += "=p"
	}
	segments := strings.Split(path[1:], "/")
	names := []string{shorten(host, "")}
	for _, segment := range segments[:len(segments)-1] {
		names = append(names, folderName(segment))
	}
	file, ending := fileName(segments[len(segments)-1], query)
	names = append(names, shorten(file, ending))
	if whole := strings.Join(names, "/"); len(whole) <= longestFile {
		return whole
	}
	return names[0] + "/=h" + sum(url) + ending
}

// folderName returns the name of a folder. It has a dot only if =s stands at its end, and
// a file always has one before its ending: so /a and /a/b are both there.
func folderName(segment string) string {
	if segment == "" {
		return "=n"
	}
	name := encode(segment) + capitals(segment)
	if strings.Contains(name, ".") {
		name += "=s"
	}
	return shorten(guard(name), "")
}

// fileName returns the name of a file and its ending.
func fileName(segment, query string) (name, ending string) {
	name, ending = segment, "=.html"
	if dot := strings.LastIndexByte(segment, '.'); dot > 0 && keptTypes[strings.ToLower(segment[dot+1:])] {
		name, ending = segment[:dot], segment[dot:]
	}
	switch {
	case segment == "":
		name, ending = "index", ".html"
	case name == "index" && ending == ".html": // that is the name of the folder's own page
		name = "=69ndex"
	default:
		name = encode(name)
	}
	if query != "" {
		name += "=q" + encode(query)
	}
	name += capitals(segment + query)
	return strings.TrimSuffix(guard(name+ending), ending), ending
}

// encode writes a part of a URL in letters, digits and what is harmless everywhere. Other
// characters become = and two digits, escapes of the URL == and two digits.
func encode(part string) string {
	var out strings.Builder
	for i := 0; i < len(part); i++ {
		switch c := part[i]; {
		case c == '%' && i+2 < len(part):
			out.WriteString("==")
			out.WriteString(strings.ToLower(part[i+1 : i+3]))
			i += 2
		case isWord(c) || c == '-' || c == '_' || c == '+' || c == ',' || c == '@' || c == '.' && i > 0:
			out.WriteByte(c)
		default:
			out.WriteByte('=')
			out.WriteString(hex.EncodeToString([]byte{c}))
		}
	}
	return out.String()
}

// capitals returns which letters are capitals, where some are: names that differ only in
// that are one file on many disks.
func capitals(text string) string {
	bits := new(big.Int)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '%': // digits of escapes are always capitals
			i += 2
		case 'A' <= c && c <= 'Z':
			bits.SetBit(bits, i, 1)
		}
	}
	if bits.Sign() == 0 {
		return ""
	}
	return "=u" + bits.Text(16)
}

// guard escapes the first letter of a name that is a device on Windows.
func guard(name string) string {
	if stem, _, _ := strings.Cut(name, "."); reserved[strings.ToLower(stem)] {
		return "=" + hex.EncodeToString([]byte{name[0]}) + name[1:]
	}
	return name
}

// shorten returns a name with its ending, and with a hash in place of most of it if it is
// too long.
func shorten(name, ending string) string {
	if len(name)+len(ending) <= longestName {
		return name + ending
	}
	return name[:60] + "=h" + sum(name + ending)[:32] + ending
}

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

// fileTypes are the endings of files that are no pages. Documents that Freshet can
// read as text, such as PDF, CSV and JSON, are pages.
var fileTypes = endings(
	"jpg jpeg png gif webp avif svg ico bmp tif tiff heic psd ai eps raw " + // pictures
		"mp3 mp4 m4a m4v wav ogg oga ogv flac aac webm avi mov mkv wmv mpg mpeg flv swf m3u8 " + // sound and films
		"zip gz tgz bz2 xz 7z rar tar zst lz4 jar war apk ipa deb rpm dmg pkg msi exe iso img bin cab torrent whl gem crx xpi " + // archives and programs
		"css js mjs map wasm woff woff2 ttf otf eot " + // parts of pages
		"doc docx ppt pptx xls xlsx odt ods odp epub mobi " + // documents without links to read
		"sqlite db parquet npy h5 pt onnx safetensors asc sig sha256 md5")

func endings(list string) map[string]bool {
	set := map[string]bool{}
	for ending := range strings.FieldsSeq(list) {
		set[ending] = true
	}
	return set
}

// entries are folders in which every entry is a page, whatever it is called:
// /wiki/Node.js is an article.
var entries = endings("wiki w tag tags tagged topic topics category label questions search")

// PageName reports whether a normalised URL may be a page, by the ending of its path.
func PageName(url string) bool {
	path := pathOf(url)
	slash := strings.LastIndexByte(path, '/')
	dot := strings.LastIndexByte(path, '.')
	if dot <= slash || len(path)-dot > 12 || !fileTypes[strings.ToLower(path[dot+1:])] {
		return true
	}
	if strings.Contains(path[slash:], ":") { // a page about a file, as wikis have: /wiki/File:Cat.jpg
		return true
	}
	folder := path[:max(slash, 0)]
	return entries[strings.ToLower(folder[strings.LastIndexByte(folder, '/')+1:])]
}

// pathOf returns the path of a normalised URL.
func pathOf(url string) string {
	_, path, _ := split(url)
	return path
}

// split returns the parts of a normalised URL: scheme with host, path, and query.
func split(url string) (origin, path, query string) {
	scheme := strings.Index(url, "://")
	if scheme < 0 {
		return "", "", ""
	}
	host := url[scheme+3:]
	slash := strings.IndexByte(host, '/')
	if slash < 0 {
		return url, "/", ""
	}
	origin = url[:scheme+3+slash]
	path, query, _ = strings.Cut(host[slash:], "?")
	return origin, path, query
}
