// Asks for a passkey or security key and posts the answer as JSON (WebAuthn Level 3, §5.1); also offers passkeys in
// the autofill of a username field, where the browser can.
const form = document.querySelector('form[data-webauthn]')
const { webauthn: verb, options: json, conditional } = form.dataset
const response = form.elements.namedItem('response')
const show = (name) => {
  for (const one of form.querySelectorAll(`[data-${name}]`)) one.hidden = false
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

if (window.PublicKeyCredential) {
  form.hidden = false
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    ask().catch(() => show('failed'))
  })
  if (conditional !== undefined)
    PublicKeyCredential.isConditionalMediationAvailable?.()
      .then((available) => available && ask('conditional'))
      .catch(() => {})
} else show('unsupported')
