package wrongpage

import "freshet/internal/freshet/suspect"

// titles are what obstacles call themselves, by class.
var titles = byPhrase(map[suspect.Class][]string{
	suspect.Login: {
		"login", "log in", "log-in", "logon", "sign in", "sign-in", "signin", "member login", "please log in", "please sign in", "login required", "sign in required",
		"log in to your account", "sign in to your account", "sign in to continue", "log in to continue", "authentication required", "single sign-on", "web login service",
		"anmelden", "anmeldung", "einloggen", "bitte anmelden", "bitte einloggen", "anmeldung erforderlich", "connexion", "se connecter", "identifiez-vous", "connectez-vous", "identification",
		"iniciar sesión", "inicia sesión", "acceder", "acceso", "entrar", "iniciar sessão", "accedi", "accesso", "inloggen", "aanmelden", "zaloguj się", "logowanie", "logga in", "giriş yap",
		"ログイン", "サインイン", "登录", "登錄", "로그인", "вход", "войти", "авторизация",
	},
	suspect.Blocked: {
		"just a moment", "attention required! | cloudflare", "attention required", "access denied", "access to this page has been denied", "access to this page has been denied because we believe you are using automation tools to browse the website", "are you a robot", "are you human", "robot check", "bot check",
		"captcha", "security check", "security checkpoint", "vercel security checkpoint", "checking your browser", "checking your browser before accessing", "please verify you are a human", "please verify you're a human", "verify you are human", "human verification", "verification required",
		"pardon our interruption", "request rejected", "request blocked", "you have been blocked", "blocked", "access blocked", "web page blocked", "access restricted", "you are being rate limited", "access denied | www.example used cloudflare to restrict access", "ddos-guard",
		"one more step", "please wait", "one moment, please", "403 forbidden", "forbidden", "error 403", "403", "403 error", "unusual traffic", "unusual activity", "too many requests", "429 too many requests",
		"making sure you're not a bot", "bot verification", "client challenge", "sucuri website firewall - access denied", "the request could not be satisfied", "error: the request could not be satisfied", "not acceptable", "406 not acceptable",
		"zugriff verweigert", "zugriff gesperrt", "zugang verweigert", "sicherheitsüberprüfung", "einen moment bitte", "nur einen moment", "accès refusé", "accès bloqué", "accès interdit", "vérification de sécurité", "un instant", "êtes-vous un robot", "acceso denegado", "acceso bloqueado", "un momento", "verificación de seguridad", "accesso negato", "acesso negado", "toegang geweigerd", "odmowa dostępu", "dostęp zabroniony",
		"アクセスが拒否されました", "しばらくお待ちください", "ロボットではないことを確認", "アクセス拒否", "访问被拒绝", "请稍候", "安全验证", "접근이 거부되었습니다", "доступ запрещен", "доступ запрещён", "проверка браузера", "доступ ограничен",
	},
	suspect.Consent: {
		"before you continue", "before you continue to google", "before you continue to youtube", "your privacy choices", "we value your privacy", "we care about your privacy", "privacy settings", "cookie consent", "cookie settings", "cookies", "cookie wall", "consent", "your consent", "privacy notice", "manage consent", "age verification", "verify your age", "are you over 18", "age check",
		"datenschutz-einstellungen", "datenschutzeinstellungen", "privatsphäre-einstellungen", "cookie-einstellungen", "bevor sie fortfahren", "zustimmung", "einwilligung", "ihre privatsphäre", "wir verwenden cookies", "altersprüfung", "altersverifikation",
		"avant de continuer", "gestion des cookies", "votre vie privée", "nous respectons votre vie privée", "vérification de l'âge", "antes de continuar", "su privacidad", "tu privacidad", "valoramos su privacidad", "configuración de cookies", "prima di continuare", "la tua privacy", "privacy-instellingen", "voordat je verdergaat", "cookie-instellingen",
		"続行する前に", "クッキーの同意", "プライバシー設定", "年齢確認", "隐私设置", "настройки cookie",
	},
	suspect.Maintenance: {
		"site under construction", "under construction", "maintenance", "maintenance mode", "site maintenance", "website maintenance", "system maintenance", "under maintenance", "site under maintenance", "website under maintenance", "scheduled maintenance", "planned maintenance", "down for maintenance", "offline for maintenance", "closed for maintenance",
		"site offline", "temporarily offline", "we'll be back soon", "we'll be right back", "we will be back soon", "we will be right back", "be right back", "we're back soon", "back soon", "temporarily down", "coming soon", "temporarily closed",
		"wartung", "wartungsarbeiten", "wartungsmodus", "wartungsseite", "wir sind gleich zurück", "wir sind bald zurück", "in kürze zurück", "vorübergehend nicht verfügbar", "en maintenance", "site en maintenance", "maintenance en cours", "de retour bientôt", "nous revenons bientôt", "en mantenimiento", "sitio en mantenimiento", "mantenimiento", "volvemos pronto", "volveremos pronto", "manutenzione", "in manutenzione", "sito in manutenzione", "em manutenção", "site em manutenção", "manutenção", "onderhoud", "in onderhoud", "przerwa techniczna", "prace konserwacyjne",
		"メンテナンス中", "メンテナンスのお知らせ", "ただいまメンテナンス中です", "システムメンテナンス", "维护中", "系统维护", "점검 중", "시스템 점검", "технические работы", "сайт на обслуживании", "техническое обслуживание",
	},
	suspect.ErrorPage: {
		"404", "error 404", "404 error", "404 not found", "404 page not found", "not found", "page not found", "object not found", "file not found", "page doesn't exist", "page does not exist", "oops", "oops! page not found", "oops, something went wrong", "something went wrong", "page unavailable", "page not available", "this page isn't available", "content not found", "content unavailable", "error", "server error", "application error", "an error occurred", "an error has occurred", "runtime error", "system error", "fatal error", "whoops, looks like something went wrong",
		"500", "500 internal server error", "internal server error", "error 500", "502 bad gateway", "bad gateway", "503 service unavailable", "service unavailable", "503 service temporarily unavailable", "service temporarily unavailable", "504 gateway time-out", "504 gateway timeout", "gateway timeout", "gateway time-out", "database error", "error establishing a database connection", "temporarily unavailable", "connection timed out", "web server is down", "origin is unreachable",
		"seite nicht gefunden", "nicht gefunden", "fehler", "fehler 404", "404 - seite nicht gefunden", "ein fehler ist aufgetreten", "interner serverfehler", "page non trouvée", "page introuvable", "erreur 404", "erreur", "une erreur est survenue", "página no encontrada", "no encontrado", "error 404 - página no encontrada", "ha ocurrido un error", "pagina non trovata", "errore 404", "página não encontrada", "erro 404", "pagina niet gevonden", "strona nie znaleziona", "nie znaleziono strony", "nie znaleziono", "sidan hittades inte",
		"ページが見つかりません", "お探しのページは見つかりません", "エラー", "お探しのページは見つかりませんでした", "页面不存在", "页面未找到", "找不到页面", "페이지를 찾을 수 없습니다", "страница не найдена", "ошибка 404", "ошибка",
		"account suspended", "this account has been suspended", "domain for sale", "this domain is for sale", "this domain is parked", "parked domain", "domain parked", "domain expired", "this domain has expired", "welcome to nginx", "apache2 ubuntu default page", "apache2 debian default page", "test page for the apache http server", "iis windows server", "default web site page", "index of /", "it works",
	},
})

// faint are titles that pages bear which are no obstacles, too.
var faint = set("error", "fehler", "erreur", "エラー", "ошибка", "please wait", "maintenance", "wartung", "login", "log in", "sign in", "anmelden", "anmeldung", "connexion", "acceso", "entrar", "acceder", "accesso",
	"cookies", "privacy notice", "privacy settings", "consent", "zustimmung", "blocked", "oops", "coming soon", "under construction", "identification", "вход", "ログイン", "登录", "로그인", "un momento", "un instant", "403", "404", "500", "captcha", "it works", "onderhoud", "mantenimiento", "manutenzione", "manutenção", "back soon", "cookie settings", "forbidden", "not found", "dostęp zabroniony")

// titlePoints returns how much a title says.
func titlePoints(title string) int {
	if faint[title] {
		return 2
	}
	return 3
}

// phrases are what obstacles say to who reads them.
var phrases = signs(map[suspect.Class]map[int][]string{
	suspect.Blocked: {
		3: {
			"verify you are human", "verifying you are human", "verify that you are human", "confirm you are human", "confirm that you are human", "prove you're human", "prove you are human", "you're not a robot", "you are not a robot", "i'm not a robot", "you are a human", "you are human by", "not a bot", "you're human", "you are a person", "not an automated", "complete the puzzle", "solve the puzzle", "looked automated", "looks automated", "using a vpn or proxy", "using a proxy or vpn", "disable your vpn", "not available from your location", "not available in your region", "not available in your country", "unavailable in your region", "cannot grant you access", "you are now in line", "you are in line", "in the queue", "waiting room", "requires javascript to work", "please enable js and", "disable any ad blocker", "security verification", "suspicious activity", "malicious activity", "automated queries", "automated requests", "automated traffic", "temporarily blocked", "temporarily restricted", "has been restricted",
			"checking your browser before accessing", "checking if the site connection is secure", "needs to review the security of your connection", "enable javascript and cookies to continue", "our systems have detected unusual traffic", "detected unusual activity from your", "unusual traffic from your", "automated access to", "you are using automation tools", "something about your browser made us think you were a bot", "made us think you are a bot",
			"sorry, you have been blocked", "you have been blocked", "you've been blocked", "this website is using a security service to protect itself", "request unsuccessful. incapsula", "incapsula incident id", "the requested url was rejected", "your access to this site has been limited", "access to this page has been denied", "you don't have permission to access", "you do not have permission to access", "has banned your access", "has banned your ip", "your ip address has been blocked", "your ip has been", "requests from your ip", "press & hold to confirm", "press and hold", "generated by cloudfront", "sucuri website firewall", "complete the security check", "complete the captcha", "solve the captcha", "complete this captcha", "captcha below", "slide to verify", "slide right to", "enter the characters you see below", "ddos protection by", "blocked by the security", "blocked because of malicious", "you have sent too many requests", "you are being rate limited", "rate limit exceeded", "too many requests from",
			"dass sie ein mensch sind", "dass sie kein roboter sind", "ich bin kein roboter", "ihr zugriff wurde gesperrt", "sie wurden blockiert", "ihr zugriff wurde blockiert", "ungewöhnlichen datenverkehr", "ungewöhnliche aktivitäten", "sie haben keine berechtigung, auf", "ihr browser wird überprüft", "überprüfung ihres browsers",
			"que vous êtes humain", "que vous êtes un humain", "que vous n'êtes pas un robot", "je ne suis pas un robot", "vous avez été bloqué", "votre accès a été bloqué", "trafic inhabituel", "activité inhabituelle", "vérification de votre navigateur", "vous n'avez pas l'autorisation d'accéder",
			"que eres humano", "que es humano", "que usted es humano", "que no eres un robot", "que no es un robot", "no soy un robot", "ha sido bloqueado", "has sido bloqueado", "tráfico inusual", "actividad inusual", "comprobando su navegador", "comprobando tu navegador", "no tiene permiso para acceder",
			"che sei umano", "che non sei un robot", "non sono un robot", "sei stato bloccato", "traffico insolito", "não é um robô", "não sou um robô", "você foi bloqueado", "tráfego incomum", "dat u een mens bent", "dat je een mens bent", "ik ben geen robot", "ongebruikelijk verkeer", "że jesteś człowiekiem", "nie jestem robotem",
			"ロボットではないことを", "人間であることを確認", "通常と異なるトラフィック", "アクセスがブロックされました", "アクセスが拒否されました", "接続のセキュリティを確認", "アクセスする権限がありません", "验证您是真人", "确认您是真人", "请完成安全验证", "异常流量", "您的访问被", "사람인지 확인", "로봇이 아닙니다", "비정상적인 트래픽", "что вы не робот", "что вы человек", "подозрительный трафик", "необычный трафик", "ваш ip", "я не робот",
		},
		1: {
			"access denied", "ray id", "reference #", "incident id", "support id", "reference id", "request id", "performance & security by cloudflare", "security check", "security service", "captcha", "please contact the site owner", "enable cookies", "enable javascript", "unusual activity", "javascript is disabled", "checking your browser", "this process is automatic", "firewall", "forbidden", "automated",
			"zugriff verweigert", "sicherheitsprüfung", "bitte aktivieren sie javascript", "accès refusé", "vérification de sécurité", "acceso denegado", "verificación de seguridad", "accesso negato", "acesso negado", "toegang geweigerd", "セキュリティ", "アクセス拒否", "访问被拒绝", "доступ запрещен",
		},
	},
	suspect.Consent: {
		3: {
			"before you continue to", "we and our partners store and/or access", "store and/or access information on a device", "we value your privacy", "we care about your privacy", "choose accept all to", "accept all cookies to continue", "to continue, please accept", "you must accept cookies", "accept cookies to continue", "you need to accept cookies", "please confirm your age", "you must be at least 18", "are you over 18", "you must be of legal", "subscribe or accept", "by clicking agree", "by clicking accept", "your data, your choice", "we need your consent", "we ask for your consent", "wij gebruiken cookies", "klik op akkoord", "wir benötigen ihre zustimmung", "wir brauchen ihre zustimmung", "nous avons besoin de votre accord", "necesitamos su consentimiento", "with advertising or",
			"bevor sie zu", "bevor sie fortfahren", "wir und unsere partner", "informationen auf einem gerät speichern", "mit werbung weiterlesen", "mit werbung und tracking", "wir schätzen ihre privatsphäre", "ihre privatsphäre ist uns wichtig", "um fortzufahren, stimmen sie", "sie müssen cookies akzeptieren", "bitte bestätigen sie ihr alter", "sind sie über 18",
			"avant d'accéder à", "avant de continuer", "nous et nos partenaires", "stockons et/ou accédons", "nous respectons votre vie privée", "votre vie privée nous tient", "continuer sans accepter", "vous devez accepter les cookies", "accepter et continuer",
			"antes de continuar", "nosotros y nuestros socios", "almacenar o acceder a información", "valoramos su privacidad", "valoramos tu privacidad", "debe aceptar las cookies", "aceptar y continuar", "noi e i nostri partner", "teniamo alla tua privacy", "la tua privacy è importante", "nós e os nossos parceiros", "valorizamos a sua privacidade", "wij en onze partners", "wij hechten waarde aan uw privacy", "voordat je verdergaat", "my i nasi partnerzy", "cenimy twoją prywatność",
			"続行する前に", "クッキーの使用に同意", "すべての cookie を受け入れ", "当社とパートナー", "18歳以上ですか", "我们重视您的隐私", "мы и наши партнеры",
		},
		1: {
			"accept all", "reject all", "manage options", "manage preferences", "cookie policy", "legitimate interest", "personalised ads", "personalized ads", "our partners", "more options", "your consent", "use cookies",
			"alle akzeptieren", "alle ablehnen", "einstellungen verwalten", "berechtigtes interesse", "personalisierte", "unsere partner", "cookies", "einwilligung", "zustimmen", "tout accepter", "tout refuser", "personnaliser", "intérêt légitime", "nos partenaires", "aceptar todo", "rechazar todo", "gestionar opciones", "interés legítimo", "accetta tutto", "rifiuta tutto", "aceitar tudo", "alles accepteren", "alles weigeren", "すべて同意", "同意する", "すべて拒否", "全部接受",
		},
	},
	suspect.Login: {
		3: {
			"please log in to continue", "please sign in to continue", "log in to continue", "sign in to continue", "you must be logged in", "you need to be logged in", "you must log in", "you need to sign in", "you have to log in", "please log in to", "please sign in to", "your session has expired", "session timed out", "logged out because", "signed out because", "back to the login page", "return to login", "to keep reading", "create a free account", "already have an account?", "already a subscriber", "already a member", "your session has timed out", "you have been logged out", "you have been signed out", "login required", "members only", "don't have an account?", "forgot your password?", "forgot password?", "keep me signed in",
			"bitte melden sie sich an", "bitte loggen sie sich ein", "sie müssen sich anmelden", "sie müssen angemeldet sein", "ihre sitzung ist abgelaufen", "passwort vergessen", "kennwort vergessen", "noch kein konto", "angemeldet bleiben", "veuillez vous connecter", "vous devez être connecté", "connectez-vous pour", "votre session a expiré", "mot de passe oublié", "rester connecté", "pas encore de compte", "inicia sesión para", "inicie sesión para", "debe iniciar sesión", "su sesión ha caducado", "su sesión ha expirado", "tu sesión ha", "olvidado tu contraseña", "olvidó su contraseña", "olvidaste tu contraseña", "¿no tienes cuenta?", "accedi per continuare", "devi effettuare l'accesso", "password dimenticata", "faça login para", "esqueceu a senha", "esqueceu sua senha", "log in om verder", "wachtwoord vergeten", "zaloguj się, aby", "nie pamiętasz hasła", "glömt lösenord", "şifremi unuttum",
			"ログインしてください", "ログインが必要です", "パスワードを忘れた", "パスワードをお忘れ", "セッションの有効期限", "请登录", "忘记密码", "您需要登录", "로그인이 필요합니다", "비밀번호를 잊으", "로그인해 주세요", "забыли пароль", "войдите, чтобы", "необходимо войти", "необходимо авторизоваться",
		},
		1: {
			"password", "log in", "sign in", "username", "remember me", "create an account", "register", "passwort", "benutzername", "anmelden", "registrieren", "kennwort", "mot de passe", "identifiant", "se connecter", "contraseña", "iniciar sesión", "usuario", "recuérdame", "senha", "wachtwoord", "gebruikersnaam", "hasło", "ログイン", "パスワード", "密码", "用户名", "비밀번호", "아이디", "пароль", "логин",
		},
	},
	suspect.Maintenance: {
		3: {
			"down for maintenance", "down for scheduled maintenance", "under maintenance", "undergoing maintenance", "undergoing scheduled maintenance", "undergoing planned maintenance", "performing maintenance", "performing scheduled maintenance", "performing some maintenance", "performing planned maintenance", "unavailable due to maintenance", "unavailable due to scheduled", "unavailable for scheduled maintenance", "unavailable while we", "offline for maintenance", "closed for maintenance", "carrying out maintenance", "scheduled maintenance is in progress", "we'll be back", "we will be back", "we'll be right back", "back online shortly", "back online soon", "be back shortly", "be back soon", "currently upgrading", "we are upgrading", "we're upgrading", "making some improvements", "making improvements", "doing some work on", "we are working on it", "reopen on", "back in a few minutes", "back in a moment", "website is currently offline", "site is currently offline", "site is temporarily", "website is temporarily",
			"wartungsarbeiten", "wird gerade gewartet", "wegen wartung", "im wartungsmodus", "vorübergehend nicht erreichbar", "vorübergehend nicht verfügbar", "wir sind bald wieder", "wir sind gleich wieder", "in kürze wieder", "bald wieder für sie da", "bitte versuchen sie es später",
			"en maintenance", "opération de maintenance", "maintenance en cours", "de retour bientôt", "bientôt de retour", "nous serons de retour", "nous revenons", "momentanément indisponible", "temporairement indisponible", "veuillez réessayer plus tard", "en mantenimiento", "tareas de mantenimiento", "labores de mantenimiento", "mantenimiento programado", "volveremos pronto", "volvemos pronto", "estaremos de vuelta", "vuelva a intentarlo más tarde", "temporalmente fuera de servicio", "in manutenzione", "manutenzione programmata", "torneremo presto", "em manutenção", "voltaremos em breve", "voltamos em breve", "in onderhoud", "onderhoudswerkzaamheden", "we zijn zo terug", "we zijn binnenkort", "przerwa techniczna", "prace techniczne", "wracamy wkrótce", "wrócimy wkrótce", "under underhåll", "bakım çalışması",
			"メンテナンス中", "メンテナンスを実施", "メンテナンスのため", "しばらくしてから", "维护中", "系统维护", "正在维护", "请稍后再", "점검 중", "점검중", "서비스 점검", "잠시 후 다시", "технические работы", "на техническом обслуживании", "скоро вернемся", "скоро вернёмся", "зайдите позже", "попробуйте позже",
		},
		1: {
			"maintenance", "temporarily unavailable", "temporarily offline", "schauen sie später", "veuillez revenir", "torna più tardi", "please check back soon", "please check back later", "please check back in a", "please come back later", "thank you for your patience", "thanks for your patience", "sorry for the inconvenience", "apologize for the inconvenience", "apologise for the inconvenience", "inconvenience", "wartung", "vielen dank für ihre geduld", "ihr verständnis", "unannehmlichkeiten", "votre patience", "votre compréhension", "gêne occasionnée", "mantenimiento", "disculpe las molestias", "disculpen las molestias", "su paciencia", "manutenzione", "ci scusiamo", "manutenção", "pedimos desculpa", "onderhoud", "excuses voor het ongemak", "przepraszamy", "ご不便", "ご迷惑", "申し訳", "维护", "不便", "점검", "불편", "неудобства",
		},
	},
	suspect.ErrorPage: {
		3: {
			"page not found", "page you are looking for", "page you're looking for", "page you were looking for", "page you requested", "page you've requested", "page cannot be found", "page can't be found", "page could not be found", "we couldn't find that page", "we could not find that page", "can't find that page", "couldn't find the page", "can't find the page", "this page doesn't exist", "this page does not exist", "page doesn't exist", "page does not exist", "no longer exists", "requested url was not found", "the requested resource", "resource could not be found", "was not found on this server", "the link you followed may be broken", "link may be broken", "this page isn't available", "this page is not available", "something went wrong", "an unexpected error", "an error has occurred", "an error occurred", "error establishing a database connection", "internal server error", "bad gateway", "service unavailable", "gateway time-out", "gateway timeout", "there has been a critical error on this website", "application error", "uncaught exception", "stack trace:", "fatal error:", "traceback (most recent call last)", "server is temporarily unable", "too many connections", "could not connect to", "is parked free", "this domain is for sale", "domain may be for sale", "buy this domain", "parked for free", "is this your domain", "domain is parked", "domain has expired", "page has gone missing", "nothing here", "nothing was found", "we looked everywhere", "can't seem to find", "couldn't find what", "no such page", "has been moved or deleted", "moved, deleted", "been removed or renamed", "exception report", "sqlstate[", "unhandled exception", "we're sorry, but something", "zur zeit nicht verfügbar", "la pagina cercata", "this account has been suspended", "contact your hosting provider", "if you see this page, the nginx web server",
			"seite nicht gefunden", "seite wurde nicht gefunden", "seite konnte nicht gefunden", "seite existiert nicht", "seite, die sie suchen", "gewünschte seite", "angeforderte seite", "gesuchte seite", "ist ein fehler aufgetreten", "etwas ist schiefgelaufen", "interner serverfehler", "page introuvable", "page non trouvée", "page que vous recherchez", "page que vous cherchez", "page demandée", "page n'existe", "cette page n'existe", "une erreur est survenue", "une erreur s'est produite", "erreur interne", "página no encontrada", "página que busca", "página que buscas", "página que está buscando", "página solicitada", "página no existe", "ha ocurrido un error", "se ha producido un error", "algo salió mal", "algo ha ido mal", "pagina non trovata", "pagina che stai cercando", "pagina richiesta", "si è verificato un errore", "página não encontrada", "página que procura", "página que você", "ocorreu um erro", "pagina niet gevonden", "pagina die u zoekt", "pagina bestaat niet", "er is een fout opgetreden", "er ging iets mis", "strona nie została znaleziona", "nie znaleziono strony", "strona, której szukasz", "wystąpił błąd", "sidan kunde inte hittas", "sayfa bulunamadı",
			"ページが見つかりません", "ページは見つかりません", "ページは存在しません", "ページは存在しない", "ページは削除された", "エラーが発生しました", "页面不存在", "找不到页面", "未找到页面", "您访问的页面", "发生错误", "페이지를 찾을 수 없습니다", "오류가 발생했습니다", "страница не найдена", "страницы не существует", "запрашиваемая страница", "произошла ошибка",
		},
		1: {
			"404", "not found", "error", "oops", "sorry", "go back to the home", "return to the home", "back to home", "try again", "homepage", "500", "503", "502", "504", "fehler", "startseite", "entschuldigung", "leider", "erreur", "désolé", "page d'accueil", "accueil", "lo sentimos", "página de inicio", "página principal", "inicio", "errore", "spiacenti", "erro", "desculpe", "helaas", "niestety", "トップページ", "申し訳", "抱歉", "返回首页", "죄송", "к сожалению", "на главную",
		},
	},
})

// markups are what only obstacles have in their markup, or nearly so.
var markups = signs(map[suspect.Class]map[int][]string{
	suspect.Blocked: {
		3: {
			"_cf_chl_opt", "cf-challenge-running", "cf-browser-verification", "cf_chl_", "/cdn-cgi/styles/cf.errors", "cf-error-details", "id=\"challenge-form\"", "challenge-error-text", "px-captcha", "captcha.px-cdn", "human.perimeterx", "geo.captcha-delivery.com", "captcha-delivery.com/captcha", "var dd={", "_incapsula_resource?swudnsai", "incapsula incident", "errors.edgesuite.net", "sec-if-cpt-container", "sec-bc-text-container", "/_sec/cp_challenge", "awswafcaptcha", "awswaf.com", "gokuprops", "aws-waf-token", "ips.js?kp", "kpsdk", "/_sgcaptcha", "sgcaptcha", "ddos-guard.net", "sucuri.net/privacy", "/.within.website/", "id=\"anubis_", "distil_r_captcha", "distil_identification", "botdetect", "reblaze", "wordfence", "f5_cspm", "id=\"captcha-form\"", "action=\"/errors/validatecaptcha\"", "vercel-challenge", "sgchallenge", "shieldsquare",
		},
		2: {"g-recaptcha", "h-captcha", "hcaptcha.com/1/api", "cf-turnstile", "geetest", "arkoselabs", "funcaptcha", "recaptcha/api.js"},
	},
	suspect.Consent: {
		3: {"consent.google.", "consent.yahoo", "guce.", "action=\"/consent", "id=\"consent-page\"", "consent-page", "cmp-container-fullpage", "collectconsent", "privacywall", "cookiewall", "cookie-wall", "age-gate", "agegate", "id=\"age-verification"},
		1: {"onetrust", "cookiebot", "usercentrics", "didomi", "sourcepoint", "consentmanager", "trustarc", "quantcast", "sp_message", "tcfapi"},
	},
	suspect.Login: {
		2: {`type="password"`, `type='password'`, `type=password`, "samlrequest", "autocomplete=\"current-password\"", "wp-submit"},
	},
	suspect.Maintenance: {
		2: {"maintenance-mode", "maintenance_mode", "id=\"maintenance", "class=\"maintenance", "wp-maintenance"},
	},
	suspect.ErrorPage: {
		2: {"error-404", "error404", "page-404", "not-found-page", "id=\"error-page\"", "class=\"error-page", "page--404", "is-404", "template-404", "http-equiv=\"status\" content=\"404"},
	},
})

// byPhrase turns classes with their phrases into phrases with their class.
func byPhrase(of map[suspect.Class][]string) map[string]suspect.Class {
	by := map[string]suspect.Class{}
	for why, list := range of {
		for _, phrase := range list {
			by[phrase] = why
		}
	}
	return by
}

// signs returns the signs of a table by class and points.
func signs(of map[suspect.Class]map[int][]string) (list []sign) {
	for class, byPoints := range of {
		for points, texts := range byPoints {
			for _, text := range texts {
				list = append(list, sign{class, points, text})
			}
		}
	}
	return list
}

func set(words ...string) map[string]bool {
	s := map[string]bool{}
	for _, w := range words {
		s[w] = true
	}
	return s
}
