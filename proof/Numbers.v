(* Numbers and their digits in a base B. *)

From Coq Require Import List Arith Lia.
Import ListNotations.

(* The number that digits say, from left to right. *)
Definition number (B : nat) (digits : list nat) : nat := fold_left (fun n d => n * B + d) digits 0.

(* The digits of a number from left to right, without leading zeros; of zero, one zero. *)
Fixpoint numeral_upto (fuel B n : nat) : list nat :=
  match fuel with
  | 0 => []
  | S fuel' => if n <? B then [n] else numeral_upto fuel' B (n / B) ++ [n mod B]
  end.
Definition numeral (B n : nat) : list nat := numeral_upto (S n) B n.

(* ---- The same from right to left, as columns are counted ---- *)

(* The sum of f(0) + f(1)·B + ... of n columns. *)
Fixpoint weigh (B : nat) (f : nat -> nat) (n : nat) : nat :=
  match n with 0 => 0 | S n' => weigh B f n' + f n' * B ^ n' end.

Lemma weigh_ext : forall B f g n, (forall j, j < n -> f j = g j) -> weigh B f n = weigh B g n.
Proof. induction n; intros equal; simpl; auto. rewrite IHn, equal; auto. Qed.

Lemma weigh_first : forall B f n, weigh B f (S n) = f 0 + B * weigh B (fun j => f (S j)) n.
Proof.
  induction n as [|n rest]; [simpl; lia|].
  change (weigh B f (S n) + f (S n) * B ^ S n
          = f 0 + B * (weigh B (fun j => f (S j)) n + f (S n) * B ^ n)).
  rewrite rest, Nat.pow_succ_r'. ring.
Qed.

Lemma weigh_zeros : forall B f m n, m <= n -> (forall j, m <= j -> j < n -> f j = 0) -> weigh B f n = weigh B f m.
Proof.
  intros B f m n le. induction le as [|n le rest]; intros zero; [reflexivity|].
  simpl. rewrite (zero n) by lia. rewrite rest; [lia|]. intros; apply zero; lia.
Qed.

Lemma number_weighs : forall B digits n, length digits <= n ->
  weigh B (fun j => nth j (rev digits) 0) n = number B digits.
Proof.
  intros B digits n room. unfold number.
  rewrite <- (fold_left_rev_right (fun d n => n * B + d)).
  rewrite <- rev_length in room. generalize dependent n. induction (rev digits) as [|d rest step]; intros n room.
  - simpl. rewrite (weigh_zeros B _ 0 n); [reflexivity | lia |]. intros [|j] _ _; reflexivity.
  - destruct n as [|n]; simpl in room; [lia|]. rewrite weigh_first. cbn [nth fold_right].
    rewrite step by lia. lia.
Qed.

(* Digits below B, the first of them not 0 unless it is the only one, are the numeral of their number. *)
Lemma numeral_unique : forall B f m, 2 <= B -> (forall j, j < S m -> f j < B) -> (m = 0 \/ f m <> 0) ->
  numeral B (weigh B f (S m)) = map f (rev (seq 0 (S m))).
Proof.
  intros B f m two. unfold numeral.
  enough (all : forall fuel f, weigh B f (S m) < fuel -> (forall j, j < S m -> f j < B) -> (m = 0 \/ f m <> 0) ->
            numeral_upto fuel B (weigh B f (S m)) = map f (rev (seq 0 (S m)))).
  { intros small first. apply all; auto. }
  clear f. induction m as [|m step]; intros [|fuel] f enough small first; try lia.
  - cbn -[Nat.ltb]. rewrite Nat.mul_1_r. replace (f 0 <? B) with true; [reflexivity|].
    symmetry. apply Nat.ltb_lt. apply small. lia.
  - rewrite weigh_first in enough |- *. set (g := fun j => f (S j)) in *.
    assert (positive : 1 <= weigh B g (S m)).
    { destruct first as [no | nonzero]; [lia|]. simpl. fold g. change (g m) with (f (S m)).
      assert (B ^ m <> 0) by (apply Nat.pow_nonzero; lia). nia. }
    assert (f0 := small 0 ltac:(lia)).
    cbn [numeral_upto]. replace (f 0 + B * weigh B g (S m) <? B) with false by (symmetry; apply Nat.ltb_ge; nia).
    replace ((f 0 + B * weigh B g (S m)) / B) with (weigh B g (S m))
      by (apply (Nat.div_unique _ _ _ (f 0)); lia).
    replace ((f 0 + B * weigh B g (S m)) mod B) with (f 0)
      by (apply (Nat.mod_unique _ _ (weigh B g (S m))); lia).
    rewrite step.
    + change (seq 0 (S (S m))) with (0 :: seq 1 (S m)). cbn [rev]. rewrite map_app. cbn [map]. f_equal.
      rewrite <- seq_shift, <- map_rev, map_map. reflexivity.
    + nia.
    + intros j lt. apply small. lia.
    + right. destruct first; [lia | assumption].
Qed.
