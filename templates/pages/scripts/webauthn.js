// Asks for a passkey or security key and posts the answer as JSON (WebAuthn Level 3, §5.1); also offers passkeys in
// the autofill of a username field, where the browser can.
const form = document.querySelector('form[data-webauthn]')
const { webauthn: verb, options: json, conditional } = form.dataset
const response = form.elements.namedItem('response')
const show = (name, shown = true) => {
  for (const one of form.querySelectorAll(`[data-${name}]`)) one.hidden = !shown
}

const toBytes = (text) => {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  return Uint8Array.from(binary, (character) => character.charCodeAt(0))
}

const toText = (buffer) => {
  const binary = Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join('')
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

const withIds = (list = []) => list.map((one) => ({ ...one, id: toBytes(one.id) }))

const readOptions = () => {
  const options = JSON.parse(json)
  const publicKey = { ...options, challenge: toBytes(options.challenge) }
  if (options.user) publicKey.user = { ...options.user, id: toBytes(options.user.id) }
  if (options.allowCredentials) publicKey.allowCredentials = withIds(options.allowCredentials)
  if (options.excludeCredentials) publicKey.excludeCredentials = withIds(options.excludeCredentials)
  return publicKey
}

const write = (credential) => {
  const answer = credential.response
  const written = { clientDataJSON: toText(answer.clientDataJSON) }
  for (const name of ['attestationObject', 'authenticatorData', 'signature', 'userHandle'])
    if (answer[name]) written[name] = toText(answer[name])
  if (answer.getTransports) written.transports = answer.getTransports()
  return JSON.stringify({
    id: credential.id,
    rawId: toText(credential.rawId),
    type: credential.type,
    authenticatorAttachment: credential.authenticatorAttachment ?? undefined,
    clientExtensionResults: credential.getClientExtensionResults(),
    response: written,
  })
}

let waiting

const ask = async (mediation) => {
  waiting?.abort()
  waiting = new AbortController()
  const { signal } = waiting
  const publicKey = readOptions()
  const credential =
    verb === 'create'
      ? await navigator.credentials.create({ publicKey, signal })
      : await navigator.credentials.get({ publicKey, signal, mediation })
  response.value = write(credential)
  form.submit()
}

// Offered in the autofill of the field for the name, while the button is not clicked.
const offer = async () => {
  if (conditional === undefined) return
  if (await PublicKeyCredential.isConditionalMediationAvailable?.()) await ask('conditional')
}

const rest = () => form.removeAttribute('aria-busy')

const take = async () => {
  show('failed', false)
  form.setAttribute('aria-busy', 'true')
  const asked = ask()
  const own = waiting
  try {
    await asked
  } catch {
    // Another click has taken its place.
    if (waiting !== own) return
    rest()
    show('failed')
    await offer()
  }
}

if (window.PublicKeyCredential) {
  form.hidden = false
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    take().catch(() => {})
  })
  addEventListener('pageshow', rest)
  offer().catch(() => {})
} else show('unsupported')
