(* Placement fills a grid as the induction needs it: a term in each row, the first one lowest, over an empty row. *)

From Coq Require Import List Arith Bool Lia.
From Gridsum Require Import Grid Rule Check.
Import ListNotations.

Section Place.

Variables (R : rule) (T : table) (C : certificate).
Hypothesis checked : conditions R T C.

(* Terms that a grid of W columns has room for. *)
Definition term_fits (W : nat) (term : list nat) : Prop :=
  term <> [] /\ Forall (fun d => d < base R) term /\ length term + 2 <= W.

Variables (H W : nat).
Notation place := (fold_left (place_letter T H W)).

Lemma digits_are_written : forall term row others, Forall (fun d => d < base R) term ->
  length term + length row <= W ->
  place (map Digit term) (row :: others) = (rev (map Digit term) ++ row) :: others.
Proof.
  induction term as [|d term rest]; intros row others small room; [reflexivity|].
  inversion small; subst. cbn [length] in room. cbn [map fold_left rev].
  unfold place_letter at 2. rewrite (writes R T C checked) by assumption.
  rewrite firstn_all2 by (simpl; lia). rewrite rest by (auto; simpl; lia). now rewrite <- app_assoc.
Qed.

(* What the row of a later term holds, from its right end. *)
Definition later (term : list nat) : list letter := rev (map Digit term) ++ [Plus].

Lemma terms_are_placed : forall terms rows, Forall (term_fits W) terms ->
  length terms + length rows <= H -> place (joined terms) rows = rev (map later terms) ++ rows.
Proof.
  induction terms as [|term terms rest]; intros rows fit room.
  - cbn. unfold place_letter. destruct (skips R T C checked) as [-> _]. reflexivity.
  - inversion fit as [|? ? (some & small & wide) others]; subst. cbn [length] in room.
    cbn [joined fold_left]. unfold place_letter at 2. rewrite (opens R T C checked).
    rewrite (firstn_all2 (n := W)) by (simpl; lia). rewrite firstn_all2 by (simpl; lia).
    rewrite fold_left_app, digits_are_written by (auto; simpl; lia).
    rewrite rest by (auto; simpl; lia). cbn [map rev]. now rewrite <- app_assoc.
Qed.

Lemma pads_are_skipped : forall n rows, place (repeat Pad n) rows = rows.
Proof.
  induction n as [|n rest]; intros rows; [reflexivity|]. cbn [repeat fold_left]. unfold place_letter at 2.
  destruct (skips R T C checked) as [_ ->]. apply rest.
Qed.

Lemma expression_is_placed : forall term terms pads, Forall (term_fits W) (term :: terms) -> length terms < H ->
  placed T H W (render (term :: terms) ++ repeat Pad pads) = rev (rev (map Digit term) :: map later terms).
Proof.
  intros term terms pads fit room. inversion fit as [|? ? (some & small & wide) others]; subst.
  unfold placed, render. cbn [joined tl]. rewrite !fold_left_app, pads_are_skipped.
  rewrite digits_are_written by (auto; simpl; lia). rewrite terms_are_placed by (auto; simpl; lia).
  cbn [rev]. now rewrite app_nil_r.
Qed.

End Place.

(* ---- The symbols of the grid of an expression ---- *)

(* What a symbol counts as. *)
Definition own (s : symbol) : nat := match s with Some (Digit d) => d | _ => 0 end.

Lemma symbols_are : forall R T C, conditions R T C -> forall W terms pads, terms <> [] -> Forall (term_fits R W) terms ->
  let x := symbols T (S (length terms)) W (render terms ++ repeat Pad pads) in
  filled R W x (length terms)
  /\ forall i j, i < length terms -> own (x (S i) j) = nth j (rev (nth i terms [])) 0.
Proof.
  intros R T C checked W [|term terms] pads some fit x; [congruence|].
  assert (is_x : forall i j, x i j = nth_error (nth (S (length terms) - i)
      (rev (rev (map Digit term) :: map later terms)) []) j).
  { intros i j. unfold x, symbols. rewrite (expression_is_placed R T C checked) by (auto; simpl; lia).
    reflexivity. }
  assert (size : length (rev (map Digit term) :: map later terms) = S (length terms)).
  { cbn [length]. now rewrite map_length. }
  assert (row : forall i j, i < S (length terms) ->
    x (S i) j = nth_error (map Digit (rev (nth i (term :: terms) [])) ++ if i =? 0 then [] else [Plus]) j).
  { intros i j lt. rewrite is_x, rev_nth by (rewrite size; lia). rewrite size.
    replace (S (length terms) - S (S (length terms) - S i)) with i by lia.
    f_equal. destruct i as [|i]; cbn [nth Nat.eqb].
    - now rewrite app_nil_r, map_rev.
    - rewrite map_rev. rewrite (nth_indep _ [] (later [])) by (rewrite map_length; lia). now rewrite map_nth. }
  split; [split|].
  - intros j lt. rewrite is_x. rewrite nth_overflow by (rewrite rev_length, size; lia). now destruct j.
  - intros [|i] bounds; [lia|]. cbn [length] in bounds.
    assert (fits : term_fits R W (nth i (term :: terms) [])).
    { rewrite Forall_forall in fit. apply fit. apply nth_In. simpl; lia. }
    set (t := nth i (term :: terms) []) in *. destruct fits as (nonempty & small & wide).
    exists (length t). repeat split; [destruct t; [congruence | simpl; lia] | assumption | | |].
    + intros j lt. exists (nth j (rev t) 0). split.
      * rewrite Forall_forall in small. apply small. apply in_rev, nth_In. now rewrite rev_length.
      * rewrite row by lia. fold t. rewrite nth_error_app1 by (rewrite map_length, rev_length; assumption).
        apply map_nth_error. apply nth_error_nth'. now rewrite rev_length.
    + rewrite row by lia. fold t. rewrite nth_error_app2 by (rewrite map_length, rev_length; lia).
      rewrite map_length, rev_length, Nat.sub_diag. cbn [Nat.eqb]. now destruct (i =? 0).
    + intros j more _. rewrite row by lia. fold t. apply nth_error_None.
      rewrite app_length, map_length, rev_length. destruct (i =? 0); simpl; lia.
  - intros i j lt. cbn [length] in lt. rewrite row by assumption. set (t := nth i (term :: terms) []).
    destruct (lt_dec j (length t)) as [less | more].
    + rewrite nth_error_app1 by (rewrite map_length, rev_length; assumption).
      rewrite (map_nth_error Digit j (rev t) (d := nth j (rev t) 0)); [reflexivity|].
      apply nth_error_nth'. now rewrite rev_length.
    + rewrite (nth_overflow (rev t)) by (rewrite rev_length; lia).
      destruct (nth_error _ j) as [l|] eqn:at_j; [|reflexivity].
      rewrite nth_error_app2 in at_j by (rewrite map_length, rev_length; lia).
      apply nth_error_In in at_j. destruct (i =? 0); [contradiction|]. destruct at_j as [<- | []]. reflexivity.
Qed.
