// Keeps the address of the Freshet whose form the button opens.
const field = document.getElementById('server'), said = document.getElementById('said');

chrome.storage.local.get('server').then(({ server }) => { field.value = server ?? 'http://127.0.0.1:8080'; });

document.getElementById('form').addEventListener('submit', async (e) => {
  e.preventDefault();
  await chrome.storage.local.set({ server: new URL(field.value).origin });
  said.textContent = 'Saved.';
});
